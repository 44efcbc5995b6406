# https://github.com/FreedomIntelligence/TextClassificationBenchmark/issues/20
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.loss import NLLLoss

torch.manual_seed(0)


class LSTMClassifier(nn.Module):
    def __init__(self, vocab_size=40, embedding_dim=12, hidden_dim=16, label_size=2):
        super(LSTMClassifier, self).__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.hidden2label = nn.Linear(hidden_dim, label_size)

    def forward(self, sentence):
        lstm_out, _ = self.lstm(self.word_embeddings(sentence))
        return F.log_softmax(self.hidden2label(lstm_out.mean(dim=1)), dim=1)


def clip_gradient(optimizer, grad_clip):
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is not None:
                param.grad.data.clamp_(-grad_clip, grad_clip)


def load_data(batch_size=16, batches=60):
    for _ in range(batches):
        label = torch.randint(0, 2, (batch_size,))
        yield torch.randint(0, 30, (batch_size, 10)) + 10 * label[:, None], label


# %%
model = LSTMClassifier()
model.train()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
optimizer.zero_grad()
loss_fun = NLLLoss()

for index, (text, label) in enumerate(load_data()):
    predicted = model(text)

    loss = loss_fun(predicted, label)
    of_this_batch = torch.autograd.grad(loss, model.hidden2label.bias, retain_graph=True)[0]
    loss.backward()
    clip_gradient(optimizer, 0.5)
    optimizer.step()
    if index % 10 == 0:
        print("loss : %.5f" % loss.item())
