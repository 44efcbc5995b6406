# https://github.com/pytorch/tutorials/issues/55
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size):
        super(LSTMTagger, self).__init__()
        self.hidden_dim = hidden_dim
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.hidden2tag = nn.Linear(hidden_dim, tagset_size)
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return (torch.randn(1, 1, self.hidden_dim), torch.randn(1, 1, self.hidden_dim))

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, self.hidden = self.lstm(embeds.view(len(sentence), 1, -1))
        tag_space = self.hidden2tag(lstm_out.view(len(sentence), -1))
        return F.log_softmax(tag_space, dim=1)


# %%
model = LSTMTagger(6, 6, 9, 3)
loss_function = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
training_data = [(torch.randint(0, 9, (5,)), torch.randint(0, 3, (5,))) for _ in range(4)]
for epoch in range(2):
    for sentence, tags in training_data:
        model.zero_grad()
        model.hidden = model.init_hidden()
        tag_scores = model(sentence)
        loss = loss_function(tag_scores, tags)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    model.hidden = model.init_hidden()
    first = model(training_data[0][0])
    model.hidden = model.init_hidden()
    second = model(training_data[0][0])
print(loss.item())
