# https://github.com/CorentinJ/Real-Time-Voice-Cloning/issues/237
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
mel_n_channels, model_hidden_size, model_embedding_size, model_num_layers = 10, 16, 16, 2
speakers_per_batch, utterances_per_speaker = 4, 5


class SpeakerEncoder(nn.Module):
    def __init__(self, loss_dtype):
        super().__init__()
        self.loss_dtype = loss_dtype

        # Network defition
        self.lstm = nn.LSTM(input_size=mel_n_channels,
                            hidden_size=model_hidden_size,
                            num_layers=model_num_layers,
                            batch_first=True)
        self.linear = nn.Linear(in_features=model_hidden_size,
                                out_features=model_embedding_size)
        self.relu = torch.nn.ReLU()

        # Cosine similarity scaling (with fixed initial parameter values)
        self.similarity_weight = nn.Parameter(torch.tensor([10.])).to(loss_dtype)
        self.similarity_bias = nn.Parameter(torch.tensor([-5.])).to(loss_dtype)

        # Loss
        self.loss_fn = nn.CrossEntropyLoss()

    def do_gradient_ops(self):
        # Gradient scale
        self.similarity_weight.grad *= 0.01
        self.similarity_bias.grad *= 0.01

        # Gradient clipping
        clip_grad_norm_(self.parameters(), 3, norm_type=2)

    def forward(self, utterances, hidden_init=None):
        out, (hidden, cell) = self.lstm(utterances, hidden_init)
        embeds_raw = self.relu(self.linear(hidden[-1]))
        return embeds_raw / (torch.norm(embeds_raw, dim=1, keepdim=True) + 1e-5)

    def similarity_matrix(self, embeds):
        centroids_incl = torch.mean(embeds, dim=1)
        centroids_incl = centroids_incl / (torch.norm(centroids_incl, dim=1, keepdim=True) + 1e-5)
        sim_matrix = torch.einsum('jke,le->jkl', embeds, centroids_incl)
        return sim_matrix * self.similarity_weight + self.similarity_bias

    def loss(self, embeds):
        sim_matrix = self.similarity_matrix(embeds)
        sim_matrix = sim_matrix.reshape((speakers_per_batch * utterances_per_speaker, speakers_per_batch))
        target = torch.arange(speakers_per_batch).repeat_interleave(utterances_per_speaker)
        return self.loss_fn(sim_matrix, target)


# %%
# FIXME: currently, the gradient is None if loss_device is cuda
loss_dtype = torch.float64
model = SpeakerEncoder(loss_dtype)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
init_step = 1
model.train()

# %%
for step in range(init_step, init_step + 3):
    inputs = torch.randn(speakers_per_batch * utterances_per_speaker, 12, mel_n_channels)

    # Forward pass
    embeds = model(inputs)
    embeds_loss = embeds.view((speakers_per_batch, utterances_per_speaker, -1)).to(loss_dtype)
    loss = model.loss(embeds_loss)

    # Backward pass
    model.zero_grad()
    loss.backward()
    model.do_gradient_ops()
    optimizer.step()
