# https://github.com/huggingface/diffusers/issues/7294
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextEncoder(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.layer = nn.Linear(dim, dim)

    def forward(self, input_ids):
        return torch.tanh(self.layer(self.token_embedding(input_ids))).mean(1)


class Denoiser(nn.Module):
    def __init__(self, latent=8, dim=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(latent + 1 + dim, 32), nn.SiLU(), nn.Linear(32, latent))

    def forward(self, noisy_latents, timesteps, encoder_hidden_states):
        return self.layers(torch.cat([noisy_latents, timesteps, encoder_hidden_states], dim=1))


def make_batch(n, modifier_token_id):
    """Prompts such as 'photo of a <new1> cat', and the latents of their pictures."""
    concept = torch.randint(0, len(modifier_token_id), (n,))
    input_ids = torch.tensor([[1, 2, 3, 0, 5]]).repeat(n, 1)
    input_ids[:, 3] = torch.tensor(modifier_token_id)[concept]
    return input_ids, torch.randn(n, 8) * 0.1 + (2.0 * concept - 1.0).view(-1, 1)


# %%
tokenizer = list(range(24))
modifier_token_id = [22, 23]  # <new1>, <new2>
text_encoder, unet = TextEncoder(vocab=len(tokenizer)), Denoiser()
text_encoder.layer.requires_grad_(False)
vector_before = text_encoder.token_embedding.weight[modifier_token_id[-1]].detach().clone()
optimizer = torch.optim.AdamW([*text_encoder.token_embedding.parameters(), *unet.parameters()],
                              lr=1e-2, weight_decay=0.0)

for step in range(30):
    input_ids, latents = make_batch(16, modifier_token_id)
    noise, timesteps = torch.randn_like(latents), torch.rand(latents.size(0), 1)
    noisy_latents = (1 - timesteps) * latents + timesteps * noise
    model_pred = unet(noisy_latents, timesteps, text_encoder(input_ids))
    loss = F.mse_loss(model_pred, noise)
    loss.backward()
    # Zero out the gradients for all token embeddings except the newly added ones
    grads_text_encoder = text_encoder.token_embedding.weight.grad
    index_grads_to_zero = torch.arange(len(tokenizer)) != modifier_token_id[0]
    for i in range(len(modifier_token_id[1:])):
        index_grads_to_zero = index_grads_to_zero & (
            torch.arange(len(tokenizer)) != modifier_token_id[i]
        )
    grads_text_encoder.data[index_grads_to_zero, :] = grads_text_encoder.data[index_grads_to_zero, :].fill_(0)
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
