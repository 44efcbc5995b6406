# https://github.com/pytorch/examples/blob/64c5eaf8e11cfb02bd78908cc08e14bcbeb61bb6/continuous-bag-of-words/cbow.py
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


def make_context_vector(context, word_to_ix):
    idxs = [word_to_ix[w] for w in context]
    return Variable(torch.LongTensor(idxs))


def get_max_prob_result(log_probs, ix_to_word):
    return ix_to_word[int(log_probs.argmax())]


CONTEXT_SIZE = 2  # 2 words to the left, 2 to the right
EMDEDDING_DIM = 30

raw_text = """A loss is a number and a gradient says how it moves. The weights go a small
step against the gradient and the loss is computed again. When the loss no longer falls
the training is over and the weights are kept.""".split()

# By deriving a set from `raw_text`, we deduplicate the array
vocab = sorted(set(raw_text))
vocab_size = len(vocab)
word_to_ix = {word: i for i, word in enumerate(vocab)}
ix_to_word = {i: word for i, word in enumerate(vocab)}

data = []
for i in range(CONTEXT_SIZE, len(raw_text) - CONTEXT_SIZE):
    context = [raw_text[i - 2], raw_text[i - 1], raw_text[i + 1], raw_text[i + 2]]
    target = raw_text[i]
    data.append((context, target))


# %%
class CBOW(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super(CBOW, self).__init__()
        # out: 1 x emdedding_dim
        self.embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.linear1 = nn.Linear(embedding_dim, 64)
        self.activation_function1 = nn.ReLU()
        # out: 1 x vocab_size
        self.linear2 = nn.Linear(64, vocab_size)
        self.activation_function2 = nn.LogSoftmax(dim=-1)

    def forward(self, inputs):
        embeds = sum(self.embeddings(inputs)).view(1, -1)
        out = self.activation_function1(self.linear1(embeds))
        out = self.activation_function2(self.linear2(out))
        return out

    def get_word_emdedding(self, word):
        word = Variable(torch.LongTensor([word_to_ix[word]]))
        return self.embeddings(word).view(1, -1)


model = CBOW(vocab_size, EMDEDDING_DIM)
loss_function = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# %%
totals = []
for epoch in range(50):
    total_loss = 0
    for context, target in data:
        context_vector = make_context_vector(context, word_to_ix)
        model.zero_grad()
        log_probs = model(context_vector)
        loss = loss_function(log_probs, Variable(torch.LongTensor([word_to_ix[target]])))
        loss.backward()
        optimizer.step()
        total_loss += loss.data
    totals.append(total_loss.item())

# %%
# ====================== TEST
right = 0
for context, target in data:
    prediction = get_max_prob_result(model(make_context_vector(context, word_to_ix)).data[0], ix_to_word)
    right += prediction == target
print(totals[0], totals[-1], right, len(data))
assert totals[-1] < 0.3 * totals[0] and right > 0.9 * len(data)
