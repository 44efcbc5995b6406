# https://github.com/huggingface/diffusers/issues/507
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIPTextModel(nn.Module):
    def __init__(self, vocab_size, hidden_size=16):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, hidden_size)
        self.position_embedding = nn.Parameter(0.02 * torch.randn(8, hidden_size))
        self.encoder = nn.TransformerEncoderLayer(hidden_size, 2, 32, dropout=0.0, batch_first=True)
        self.final_layer_norm = nn.LayerNorm(hidden_size)

    def get_input_embeddings(self):
        return self.token_embedding

    def forward(self, input_ids):
        hidden = self.token_embedding(input_ids) + self.position_embedding[: input_ids.shape[1]]
        return self.final_layer_norm(self.encoder(hidden))


class UNet(nn.Module):
    def __init__(self, latent=12, hidden_size=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent + hidden_size + 1, 64), nn.SiLU(), nn.Linear(64, latent))

    def forward(self, noisy_latents, timesteps, encoder_hidden_states):
        t = timesteps[:, None].float() / 1000
        return self.net(torch.cat([noisy_latents, encoder_hidden_states.mean(1), t], dim=1))


def freeze_params(params):
    for param in params:
        param.requires_grad = False


# %%
tokenizer = ["a", "photo", "of", "the", "my", "good", "toy", "cat", "alligator", "<cat-toy>"]
placeholder_token_id = tokenizer.index("<cat-toy>")
initializer_token_id = tokenizer.index("toy")

text_encoder = CLIPTextModel(len(tokenizer))
unet = UNet()

# Initialise the newly added placeholder token with the embeddings of the initializer token
token_embeds = text_encoder.get_input_embeddings().weight.data
token_embeds[placeholder_token_id] = token_embeds[initializer_token_id]

# Freeze unet, and all parameters except for the token embeddings in text encoder
freeze_params(unet.parameters())
params_to_freeze = itertools.chain(
    text_encoder.encoder.parameters(),
    text_encoder.final_layer_norm.parameters(),
    [text_encoder.position_embedding],
)
freeze_params(params_to_freeze)

# Initialize the optimizer
optimizer = torch.optim.AdamW(
    text_encoder.get_input_embeddings().parameters(),  # only optimize the embeddings
    lr=5e-3,
    betas=(0.9, 0.999),
    weight_decay=1e-2,
    eps=1e-08,
)

token_embed_w_copy = text_encoder.get_input_embeddings().weight.data.clone().detach().requires_grad_(False)

# never seen
test_tok_id = tokenizer.index("alligator")
test_tok = token_embed_w_copy[test_tok_id]

# %%
latents = torch.randn(4, 12)
prompt = torch.tensor([[tokenizer.index(w) for w in ["a", "photo", "of", "the", "<cat-toy>"]]] * 4)
text_encoder.train()
for global_step in range(100):
    # Sample noise that we'll add to the latents
    noise = torch.randn(latents.shape)
    timesteps = torch.randint(0, 1000, (4,)).long()
    alpha = (1 - timesteps[:, None] / 1000).sqrt()
    noisy_latents = alpha * latents + (1 - alpha**2).sqrt() * noise

    # Get the text embedding for conditioning
    encoder_hidden_states = text_encoder(prompt)
    noise_pred = unet(noisy_latents, timesteps, encoder_hidden_states)
    loss = F.mse_loss(noise_pred, noise, reduction="none").mean([1]).mean()
    loss.backward()

    # Zero out the gradients for all token embeddings except the newly added
    # embeddings for the concept, as we only want to optimize the concept embeddings
    grads = text_encoder.get_input_embeddings().weight.grad
    index_grads_to_zero = torch.arange(len(tokenizer)) != placeholder_token_id
    grads.data[index_grads_to_zero, :] = grads.data[index_grads_to_zero, :].fill_(0)

    optimizer.step()
    optimizer.zero_grad()

# %%
test_tok_actual = text_encoder.get_input_embeddings().weight.data[test_tok_id]
print(torch.allclose(test_tok, test_tok_actual))
print((test_tok - test_tok_actual).abs().max())
