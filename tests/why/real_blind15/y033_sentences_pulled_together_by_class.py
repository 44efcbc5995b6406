# https://github.com/sl-93/SUPERVISED-CONTRASTIVE-LEARNING-FOR-PRE-TRAINED-LANGUAGE-MODEL-FINE-TUNING/issues/2
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)

temprature = 0.3  # temprature for contrastive loss
lam = 0.9  # lambda for loss


class Model_Classifier(nn.Module):
    def __init__(self, vocab=40, embedding_dim=16, hidden_dim=20, num_labels=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, embedding_dim)
        self.bert = nn.TransformerEncoderLayer(embedding_dim, 2, 32, dropout=0.0, batch_first=True)
        self.classifier = nn.Sequential(nn.Linear(embedding_dim, hidden_dim), nn.Linear(hidden_dim, num_labels))

    def forward(self, input_ids):
        last_hidden_state_cls = self.bert(self.embeddings(input_ids))[:, 0, :]
        return self.classifier(last_hidden_state_cls), last_hidden_state_cls


def cosine_similarity(a, b):
    a = a / ((a ** 2).sum(-1, keepdims=True) ** 0.5)
    b = b / ((b ** 2).sum(-1, keepdims=True) ** 0.5)
    return a @ b.T


def contrastive_loss(temp, embedding, label):
    # cosine similarity between embeddings
    cosine_sim = cosine_similarity(embedding, embedding)
    n = cosine_sim.shape[0]
    # remove diagonal elements from matrix
    dis = cosine_sim[~np.eye(n, dtype=bool)].reshape(n, -1)
    # apply temprature and exp to elements
    dis = np.exp(dis / temp)
    row_sum = dis.sum(1)
    # calculate outer sum
    loss = 0
    for i in range(n):
        n_i = label.tolist().count(label[i]) - 1
        inner_sum = 0
        for j in range(n - 1):
            if label[i] == label[j]:
                inner_sum = inner_sum + np.log(dis[i][j] / row_sum[i])
        if n_i != 0:
            loss += inner_sum / (-n_i)
    return loss


ids = torch.randint(0, 40, (48, 6))
labels = (ids[:, 1] > 19).long()

# %%
model = Model_Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(3):
    for b_input_ids, b_labels in zip(ids.split(16), labels.split(16)):
        model.zero_grad()
        logits, hidden_state = model(b_input_ids)
        cross_loss = loss_fn(logits, b_labels)
        contrastive_l = contrastive_loss(temprature, hidden_state.cpu().detach().numpy(), b_labels)
        loss = (lam * contrastive_l) + (1 - lam) * cross_loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, float(contrastive_l), cross_loss.item())
