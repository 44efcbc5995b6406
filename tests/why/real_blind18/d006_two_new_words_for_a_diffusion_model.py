# https://github.com/adobe-research/custom-diffusion/issues/41
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Tokenizer:
    def __init__(self, words):
        self.ids = {word: i for i, word in enumerate(words)}

    def add_tokens(self, token):
        self.ids.setdefault(token, len(self.ids))

    def convert_tokens_to_ids(self, token):
        return self.ids[token]

    def encode(self, prompt):
        return [self.ids[word] for word in prompt.split()]

    def __len__(self):
        return len(self.ids)


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.final_layer_norm = nn.LayerNorm(dim)

    def get_input_embeddings(self):
        return self.token_embedding

    def resize_token_embeddings(self, n):
        old = self.token_embedding.weight.data
        self.token_embedding = nn.Embedding(n, old.shape[1])
        self.token_embedding.weight.data[:len(old)] = old

    def forward(self, input_ids):
        return self.final_layer_norm(self.encoder(self.token_embedding(input_ids)))


class UNet(nn.Module):
    def __init__(self, latent=8, dim=16):
        super().__init__()
        self.conv_in = nn.Linear(latent + 1, dim)
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.conv_out = nn.Linear(dim, latent)

    def forward(self, x, timesteps, encoder_hidden_states):
        h = self.conv_in(torch.cat([x, timesteps[:, None]], dim=1))
        k, v = self.to_k(encoder_hidden_states), self.to_v(encoder_hidden_states)
        attn = F.scaled_dot_product_attention(self.to_q(h)[:, None], k, v)[:, 0]
        return self.conv_out(torch.relu(h + attn))


# %%
tokenizer = Tokenizer("a photo of the cat dog chair toy red blue".split())
text_encoder, unet = TextEncoder(len(tokenizer)), UNet()

modifier_token_id, initializer_token_id = [], []
for modifier_token, initializer_token in zip("<new1>+<new2>".split('+'), "cat+chair".split('+')):
    tokenizer.add_tokens(modifier_token)
    initializer_token_id.append(tokenizer.convert_tokens_to_ids(initializer_token))
    modifier_token_id.append(tokenizer.convert_tokens_to_ids(modifier_token))
text_encoder.resize_token_embeddings(len(tokenizer))
token_embeds = text_encoder.get_input_embeddings().weight.data
for (x, y) in zip(modifier_token_id, initializer_token_id):
    token_embeds[x] = token_embeds[y]
first_embeds = token_embeds.clone()

for param in itertools.chain(text_encoder.encoder.parameters(), text_encoder.final_layer_norm.parameters()):
    param.requires_grad = False
for name, param in unet.named_parameters():
    param.requires_grad = 'to_k' in name or 'to_v' in name
params_to_optimize = itertools.chain(text_encoder.get_input_embeddings().parameters(),
                                     [x[1] for x in unet.named_parameters() if 'to_k' in x[0] or 'to_v' in x[0]])
optimizer = torch.optim.AdamW(params_to_optimize, lr=1e-3, weight_decay=0.0)
prompts = ["photo of a <new1> cat", "photo of the <new2> chair"]

# %%
for step in range(20):
    latents = torch.randn(2, 8)
    noise, timesteps = torch.randn_like(latents), torch.rand(2)
    noisy_latents = (1 - timesteps[:, None]) * latents + timesteps[:, None] * noise
    encoder_hidden_states = text_encoder(torch.tensor([tokenizer.encode(p) for p in prompts]))
    model_pred = unet(noisy_latents, timesteps, encoder_hidden_states)
    loss = F.mse_loss(model_pred, noise)
    loss.backward()

    # Zero out the gradients for all token embeddings except the newly added ones
    grads_text_encoder = text_encoder.get_input_embeddings().weight.grad
    index_grads_to_zero = torch.arange(len(tokenizer)) != modifier_token_id[0]
    for i in range(len(modifier_token_id[1:])):
        index_grads_to_zero = index_grads_to_zero | torch.arange(len(tokenizer)) != modifier_token_id[i]
    grads_text_encoder.data[index_grads_to_zero, :] = grads_text_encoder.data[index_grads_to_zero, :].fill_(0)

    optimizer.step()
    optimizer.zero_grad()
moved = (text_encoder.get_input_embeddings().weight - first_embeds).abs().amax(dim=1)
print({word: round(moved[i].item(), 4) for word, i in tokenizer.ids.items()})
