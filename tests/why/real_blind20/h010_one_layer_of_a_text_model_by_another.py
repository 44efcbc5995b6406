# https://github.com/huggingface/transformers/issues/8937
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.norm, self.dense = nn.LayerNorm(size), nn.Linear(size, size)

    def forward(self, hidden, mask):
        scores = self.query(hidden) @ self.key(hidden).transpose(-1, -2) / hidden.shape[-1] ** 0.5
        scores = scores.masked_fill(mask[:, None, :] == 0, -1e4)
        hidden = self.norm(hidden + scores.softmax(-1) @ self.value(hidden))
        return hidden + torch.tanh(self.dense(hidden))


class Bert(nn.Module):
    def __init__(self, vocab_size=50, size=16, num_layers=4):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, size)
        self.layers = nn.ModuleList([Layer(size) for _ in range(num_layers)])
        self.pooler = nn.Linear(size, size)

    def forward(self, input_ids, attention_mask):
        hidden_states = (self.embeddings(input_ids),)
        for layer in self.layers:
            hidden_states = hidden_states + (layer(hidden_states[-1], attention_mask),)
        return hidden_states[-1], torch.tanh(self.pooler(hidden_states[-1][:, 0])), hidden_states


# %%
bert_model = Bert()
ids = torch.randint(0, 50, (3, 1, 7))
data_loader = DataLoader(TensorDataset(ids, torch.ones_like(ids)))
i, j = 1, 3

# %%
for count, data in enumerate(data_loader):
    input_ids = torch.squeeze(data[0], dim=0)
    attention_mask = torch.squeeze(data[1], dim=0)
    last_hidden_state, pooled_output, hidden_states = bert_model(input_ids=input_ids, attention_mask=attention_mask)
    bert_layer_i_output = hidden_states[i][0]
    print(bert_layer_i_output.shape)
    bert_layer_j_output = hidden_states[j][0]
    for k in range(bert_layer_i_output.shape[0]):
        gradient = torch.autograd.grad(bert_layer_j_output[k], bert_layer_i_output[k], grad_outputs=torch.ones_like(bert_layer_j_output[k]))
        print(gradient[0].shape)
        print(torch.norm(gradient[0]))
        break
    break
