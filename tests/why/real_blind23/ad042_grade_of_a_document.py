# https://github.com/deepset-ai/FARM/issues/229
import torch
from torch import nn
from torch.nn import MSELoss

torch.manual_seed(0)


class FeedForwardBlock(nn.Module):
    def __init__(self, layer_dims):
        super(FeedForwardBlock, self).__init__()
        self.layer_dims = layer_dims
        n_layers = len(layer_dims) - 1
        layers_all = []
        for i in range(n_layers):
            layers_all.append(nn.Linear(layer_dims[i], layer_dims[i + 1]))
        self.feed_forward = nn.Sequential(*layers_all)

    def forward(self, X):
        return self.feed_forward(X)


class RegressionHead(nn.Module):
    def __init__(self, layer_dims, loss_reduction="none", task_name="regression"):
        super(RegressionHead, self).__init__()
        self.layer_dims = layer_dims
        self.feed_forward = FeedForwardBlock(self.layer_dims)
        self.num_labels = 2  # dummy: mean, scale
        self.ph_output_type = "per_sequence_continuous"
        self.loss_fct = MSELoss(reduction=loss_reduction)
        self.task_name = task_name

    def forward(self, x):
        logits = self.feed_forward(x)
        return logits

    def logits_to_loss(self, logits, label_ids):
        # Squeeze the logits to obtain a coherent output size
        return self.loss_fct(logits.squeeze(), label_ids.float())


class LanguageModel(nn.Module):
    def __init__(self, vocab_size=100, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.encoder = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, input_ids, padding_mask):
        hidden = self.encoder(self.embeddings(input_ids)) * padding_mask.unsqueeze(-1)
        return hidden.sum(1) / padding_mask.sum(1, keepdim=True)


class AdaptiveModel(nn.Module):
    def __init__(self, language_model, prediction_heads, embeds_dropout_prob=0.1):
        super(AdaptiveModel, self).__init__()
        self.language_model = language_model
        self.prediction_heads = nn.ModuleList(prediction_heads)
        self.dropout = nn.Dropout(embeds_dropout_prob)

    def forward(self, input_ids, padding_mask):
        pooled_output = self.dropout(self.language_model(input_ids, padding_mask))
        return [head(pooled_output) for head in self.prediction_heads]

    def logits_to_loss(self, logits, label_ids):
        all_losses = [head.logits_to_loss(lg, label_ids) for head, lg in zip(self.prediction_heads, logits)]
        return sum(loss.mean() for loss in all_losses)


# %%
n_docs, max_seq_len, batch_size = 256, 12, 32
input_ids = torch.randint(1, 100, (n_docs, max_seq_len))
padding_mask = torch.ones(n_docs, max_seq_len)
labels = ((input_ids < 30).float().mean(1, keepdim=True) * 16).round()
prediction_head = RegressionHead([32, 1])
model = AdaptiveModel(LanguageModel(), [prediction_head])
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

# %%
for epoch in range(20):
    model.train()
    for i in range(0, n_docs, batch_size):
        sl = slice(i, i + batch_size)
        logits = model(input_ids[sl], padding_mask[sl])
        loss = model.logits_to_loss(logits, labels[sl])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("Train epoch", epoch + 1, "(Cur. train loss: %.4f)" % loss.item())

model.eval()
with torch.no_grad():
    preds = model(input_ids, padding_mask)[0].squeeze(-1)
mse = ((preds - labels.squeeze(-1)) ** 2).mean().item()
print("mse", mse, "variance of the labels", labels.var().item())
