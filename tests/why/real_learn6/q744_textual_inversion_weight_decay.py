# https://github.com/huggingface/diffusers/issues/1009
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextEncoder(nn.Module):
    def __init__(self, vocab=9, dim=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.final = nn.Linear(dim, dim)

    def get_input_embeddings(self):
        return self.token_embedding

    def forward(self, ids):
        return self.final(self.token_embedding(ids).mean(1))


# %%
placeholder_token_id = 8
text_encoder, unet = TextEncoder(), nn.Linear(8, 8)
for p in [*unet.parameters(), *text_encoder.final.parameters()]:
    p.requires_grad = False
optimizer = torch.optim.AdamW(text_encoder.get_input_embeddings().parameters(), lr=5e-3, weight_decay=1e-2)
before = text_encoder.token_embedding.weight.detach().clone()

# %%
for step in range(5):
    input_ids = torch.randint(0, 8, (4, 5))
    input_ids[:, 2] = placeholder_token_id
    noise = torch.randn(4, 8)
    noise_pred = unet(text_encoder(input_ids))
    loss = F.mse_loss(noise_pred, noise)
    loss.backward()

    # Zero out the gradients for all token embeddings except the newly added one
    grads = text_encoder.get_input_embeddings().weight.grad
    index_grads_to_zero = torch.arange(9) != placeholder_token_id
    grads.data[index_grads_to_zero, :] = grads.data[index_grads_to_zero, :].fill_(0)

    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
