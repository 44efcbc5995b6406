# https://forums.fast.ai/t/updating-part-of-an-embedding-matrix-only-for-out-of-vocab-words/33846
import torch
import torch.nn as nn

torch.manual_seed(0)

vocab_size, embedding_dim = 40, 12


def load_pretrained():
    """Vectors of the known words; the words out of vocabulary begin at the mean of them."""
    vectors = torch.randn(vocab_size, embedding_dim)
    out_of_vocab = torch.zeros(vocab_size, dtype=torch.bool)
    out_of_vocab[30:] = True
    vectors[out_of_vocab] = vectors[~out_of_vocab].mean(dim=0)
    return vectors, out_of_vocab


class TextClassifier(nn.Module):
    def __init__(self, vectors, mask):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.embedding.weight.data.copy_(vectors)
        # the known words stay as they are, only those out of vocabulary are trained
        self.embedding.weight.requires_grad = False
        self.embedding.weight[mask, :].requires_grad = True
        self.rnn = nn.GRU(embedding_dim, 16, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, words):
        _, hidden = self.rnn(self.embedding(words))
        return self.head(hidden[-1])


def batch(size=32, length=8):
    words = torch.randint(0, vocab_size, (size, length))
    # the label hangs on the new words alone
    labels = ((words >= 35).sum(dim=1) > (words >= 30).sum(dim=1) / 2).long()
    return words, labels


# %%
vectors, out_of_vocab = load_pretrained()
model = TextClassifier(vectors, out_of_vocab)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for iteration in range(60):
    words, labels = batch()
    optimizer.zero_grad()
    loss = criterion(model(words), labels)
    loss.backward()
    optimizer.step()
    if iteration % 20 == 0:
        print(iteration, loss.item())

change = (model.embedding.weight.detach() - vectors).abs().sum(dim=1)
print("change of new words", change[out_of_vocab].sum(), "of known words", change[~out_of_vocab].sum())
