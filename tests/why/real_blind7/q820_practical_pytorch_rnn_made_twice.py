# https://github.com/spro/practical-pytorch/issues/9
import torch
import torch.nn as nn

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = self.i2h(combined)
        output = self.i2o(combined)
        output = self.softmax(output)
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


# %%
n_letters, n_hidden, n_categories = 10, 16, 3
rnn = RNN(n_letters, n_hidden, n_categories)
criterion = nn.NLLLoss()
learning_rate = 0.005
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)


def train(category_tensor, line_tensor):
    optimizer.zero_grad()
    hidden = rnn.init_hidden()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


# %%
# keep track of losses for plotting
rnn = RNN(n_letters, n_hidden, n_categories)
before = rnn.i2h.weight.detach().clone()
for epoch in range(1, 21):
    line_tensor = nn.functional.one_hot(torch.randint(0, n_letters, (6, 1)), n_letters).float()
    category_tensor = torch.randint(0, n_categories, (1,))
    output, loss = train(category_tensor, line_tensor)
print(loss)
