# https://blog.csdn.net/weixin_39997443/article/details/111723452
import torch
import torch.nn as nn

torch.manual_seed(0)


class NextWord(nn.Module):
    """An LSTM that predicts the vector of the next word."""

    def __init__(self, vocab_size=20, embedding_dim=8, hidden_dim=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.out = nn.Linear(hidden_dim, embedding_dim)

    def forward(self, sentences):
        hidden, _ = self.lstm(self.embedding(sentences[:, :-1]))
        return self.out(hidden)

    def loss(self, sentences):
        prediction = self(sentences)
        target = self.embedding(sentences[:, 1:])
        return nn.functional.mse_loss(prediction, target)


def make_sentences(n, length=7, vocab_size=20):
    first = torch.randint(0, vocab_size, (n, 1))
    jumps = torch.randint(1, 6, (n, length)).cumsum(1)
    return (first + jumps) % vocab_size


# %%
model = NextWord()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
print("spread of the vectors", model.embedding.weight.std(dim=0).mean().item())

for epoch in range(300):
    sentences = make_sentences(16)
    loss = model.loss(sentences)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print(epoch, loss.item(), model.embedding.weight.std(dim=0).mean().item())
