# https://github.com/graykode/nlp-tutorial/blob/master/2-1.TextCNN/TextCNN.py
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F

torch.manual_seed(0)


class TextCNN(nn.Module):
    def __init__(self):
        super(TextCNN, self).__init__()
        self.num_filters_total = num_filters * len(filter_sizes)
        self.W = nn.Embedding(vocab_size, embedding_size)
        self.Weight = nn.Linear(self.num_filters_total, num_classes, bias=False)
        self.Bias = nn.Parameter(torch.ones([num_classes]))
        self.filter_list = nn.ModuleList([nn.Conv2d(1, num_filters, (size, embedding_size)) for size in filter_sizes])

    def forward(self, X):
        embedded_chars = self.W(X)  # [batch_size, sequence_length, embedding_size]
        embedded_chars = embedded_chars.unsqueeze(1)

        pooled_outputs = []
        for i, conv in enumerate(self.filter_list):
            h = F.relu(conv(embedded_chars))
            mp = nn.MaxPool2d((sequence_length - filter_sizes[i] + 1, 1))
            pooled = mp(h).permute(0, 3, 2, 1)
            pooled_outputs.append(pooled)

        h_pool = torch.cat(pooled_outputs, len(filter_sizes))
        h_pool_flat = torch.reshape(h_pool, [-1, self.num_filters_total])
        model = self.Weight(h_pool_flat) + self.Bias
        return model


# %%
embedding_size = 2
sequence_length = 3
num_classes = 2
filter_sizes = [2, 2, 2]
num_filters = 3

sentences = ["i love you", "he loves me", "she likes baseball", "i hate you", "sorry for that", "this is awful"]
labels = [1, 1, 1, 0, 0, 0]

word_list = " ".join(sentences).split()
word_list = sorted(set(word_list))
word_dict = {w: i for i, w in enumerate(word_list)}
vocab_size = len(word_dict)

model = TextCNN()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.005)
inputs = torch.LongTensor(np.asarray([[word_dict[n] for n in sen.split()] for sen in sentences]))
targets = torch.LongTensor([out for out in labels])

# %%
costs = []
for epoch in range(800):
    optimizer.zero_grad()
    output = model(inputs)
    loss = criterion(output, targets)
    if (epoch + 1) % 200 == 0:
        print('Epoch:', '%04d' % (epoch + 1), 'cost =', '{:.6f}'.format(loss))
    loss.backward()
    optimizer.step()
    costs.append(loss.item())

# %%
test_text = 'sorry hate you'
test_batch = torch.LongTensor(np.asarray([[word_dict[n] for n in test_text.split()]]))
predict = model(test_batch).data.max(1, keepdim=True)[1]
print(test_text, "is Bad Mean..." if predict[0][0] == 0 else "is Good Mean!!")
right = (model(inputs).argmax(1) == targets).float().mean().item()
assert right == 1.0 and costs[-1] < 0.1 * costs[0]
