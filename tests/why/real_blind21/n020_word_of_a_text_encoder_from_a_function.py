# https://github.com/huggingface/diffusers/issues/3256
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIPTextModel(nn.Module):
    def __init__(self, vocab_size=60, hidden_size=16, max_length=10):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, hidden_size)
        self.position_embedding = nn.Embedding(max_length, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, 2, 2 * hidden_size, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.final_layer_norm = nn.LayerNorm(hidden_size)

    def get_input_embeddings(self):
        return self.token_embedding

    def resize_token_embeddings(self, n):
        old = self.token_embedding.weight
        self.token_embedding = nn.Embedding(n, old.size(1))
        with torch.no_grad():
            self.token_embedding.weight[:len(old)] = old

    def forward(self, input_ids):
        positions = torch.arange(input_ids.size(1))
        x = self.token_embedding(input_ids) + self.position_embedding(positions)
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.size(1))
        return self.final_layer_norm(self.encoder(x, mask=mask))


class UNet(nn.Module):
    def __init__(self, channels=4, context=16):
        super().__init__()
        self.inp = nn.Linear(channels + 1, 16)
        self.cross = nn.MultiheadAttention(16, 2, kdim=context, vdim=context, batch_first=True)
        self.out = nn.Linear(16, channels)

    def forward(self, sample, timesteps, encoder_hidden_states):
        t = (timesteps.float() / 1000)[:, None, None].expand(-1, sample.size(1), 1)
        x = self.inp(torch.cat([sample, t], -1))
        x = x + self.cross(x, encoder_hidden_states, encoder_hidden_states)[0]
        return self.out(F.silu(x))


class MyFunction(nn.Module):
    def __init__(self, hidden_size, rank=4):
        super().__init__()
        self.basis = nn.Linear(rank, hidden_size)

    def forward(self, trainable_weight):
        return self.basis(torch.tanh(trainable_weight))


# %%
text_encoder = CLIPTextModel()
placeholder_token_id = 60
text_encoder.resize_token_embeddings(61)
unet = UNet()
unet.requires_grad_(False)

my_function = MyFunction(hidden_size=16)
trainable_weight = nn.Parameter(torch.randn(4))
optimizer = torch.optim.AdamW([trainable_weight] + list(my_function.parameters()), lr=5e-4)
alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)

# %%
for step in range(3):
    latents = torch.randn(2, 9, 4)
    input_ids = torch.randint(0, 60, (2, 10))
    input_ids[:, 4] = placeholder_token_id
    noise = torch.randn_like(latents)
    timesteps = torch.randint(0, 1000, (2,))
    alpha = alphas_cumprod[timesteps][:, None, None]
    noisy_latents = alpha.sqrt() * latents + (1 - alpha).sqrt() * noise

    text_encoder.get_input_embeddings().weight[placeholder_token_id] = my_function(trainable_weight)
    encoder_hidden_states = text_encoder(input_ids)
    noise_pred = unet(noisy_latents, timesteps, encoder_hidden_states)
    loss = F.mse_loss(noise_pred, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
