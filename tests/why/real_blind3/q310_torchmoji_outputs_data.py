# https://github.com/huggingface/torchMoji/issues/21
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(1)


class TorchMoji(nn.Module):
    def __init__(self, nb_classes, nb_tokens=50, embedding_dim=8, hidden_size=8):
        super(TorchMoji, self).__init__()
        self.nb_classes = nb_classes
        self.embed = nn.Embedding(nb_tokens, embedding_dim, padding_idx=0)
        self.embed_dropout = nn.Dropout(0.1)
        self.lstm_0 = nn.LSTM(embedding_dim, hidden_size, bidirectional=True, batch_first=True)
        self.attention_layer = nn.Linear(2 * hidden_size, 1)
        self.output_layer = nn.Sequential(nn.Linear(2 * hidden_size, 1), nn.Sigmoid())
        self.eval()

    def forward(self, input_seqs):
        # take note to return the format that came in
        return_tensor = False
        if isinstance(input_seqs, torch.LongTensor):
            input_seqs = Variable(input_seqs)
            return_tensor = True
        x = self.embed_dropout(torch.tanh(self.embed(input_seqs)))
        x, _ = self.lstm_0(x)
        weights = torch.softmax(self.attention_layer(x), dim=1)
        outputs = self.output_layer((weights * x).sum(1))
        if return_tensor:
            outputs = outputs.data
        return outputs


def fit_model(model, loss_op, optim_op, train_gen, val_gen, epochs):
    for epoch in range(epochs):
        model.train()
        for X, y in train_gen:
            optim_op.zero_grad()
            output = model(X)
            loss = loss_op(output.squeeze(), y.float())
            loss = Variable(loss, requires_grad=True)  # else: element 0 of tensors does not require grad
            loss.backward()
            optim_op.step()
        model.eval()
        acc = sum(((model(X).squeeze() > 0.5) == y.bool()).float().mean().item() for X, y in val_gen) / len(val_gen)
        val_loss = sum(loss_op(model(X).squeeze(), y.float()).item() for X, y in val_gen) / len(val_gen)
        print('{} Epoch val acc {:.2f} val loss {:.5f}'.format(epoch + 1, 100 * acc, val_loss))
        history.append(val_loss)


# %%
def batches(n):
    xs = [torch.randint(1, 50, (16, 7)) for _ in range(n)]
    return [(x, (x[:, 0] > 25).long()) for x in xs]


train_gen, val_gen = batches(4), batches(2)
model = TorchMoji(nb_classes=2)
loss_op = nn.BCELoss()
adam = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=0.01)
history = []
fit_model(model, loss_op, adam, train_gen, val_gen, epochs=4)
