# https://github.com/KaiyangZhou/CoOp/blob/main/trainers/coop.py
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)


class CLIP(nn.Module):
    def __init__(self, width=8, vocab=20):
        super().__init__()
        self.visual = nn.Linear(12, width)
        self.token_embedding = nn.Embedding(vocab, width)
        self.transformer = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)
        self.positional_embedding = nn.Parameter(torch.randn(6, width) * 0.01)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.randn(width, width) * 0.3)
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.6)
        self.dtype = torch.float32


class TextEncoder(nn.Module):
    def __init__(self, clip_model):
        super().__init__()
        self.transformer = clip_model.transformer
        self.positional_embedding = clip_model.positional_embedding
        self.ln_final = clip_model.ln_final
        self.text_projection = clip_model.text_projection

    def forward(self, prompts, tokenized_prompts):
        x = self.transformer(prompts + self.positional_embedding)
        x = self.ln_final(x)
        return x[torch.arange(x.shape[0]), tokenized_prompts.argmax(dim=-1)] @ self.text_projection


class PromptLearner(nn.Module):
    def __init__(self, tokenized_prompts, clip_model, n_ctx=3):
        super().__init__()
        ctx_vectors = torch.empty(n_ctx, 8)
        nn.init.normal_(ctx_vectors, std=0.02)
        self.ctx = nn.Parameter(ctx_vectors)
        with torch.no_grad():
            embedding = clip_model.token_embedding(tokenized_prompts).type(clip_model.dtype)
        self.register_buffer("token_prefix", embedding[:, :1, :])
        self.register_buffer("token_suffix", embedding[:, 1 + n_ctx :, :])
        self.n_cls = len(tokenized_prompts)

    def forward(self):
        ctx = self.ctx.unsqueeze(0).expand(self.n_cls, -1, -1)
        return torch.cat([self.token_prefix, ctx, self.token_suffix], dim=1)


class CustomCLIP(nn.Module):
    def __init__(self, tokenized_prompts, clip_model):
        super().__init__()
        self.prompt_learner = PromptLearner(tokenized_prompts, clip_model)
        self.tokenized_prompts = tokenized_prompts
        self.image_encoder = clip_model.visual
        self.text_encoder = TextEncoder(clip_model)
        self.logit_scale = clip_model.logit_scale

    def forward(self, image):
        image_features = self.image_encoder(image)
        text_features = self.text_encoder(self.prompt_learner(), self.tokenized_prompts)
        image_features = image_features / image_features.norm(dim=-1, keepdim=True)
        text_features = text_features / text_features.norm(dim=-1, keepdim=True)
        return self.logit_scale.exp() * image_features @ text_features.t()


clip_model = CLIP()
model = CustomCLIP(torch.randint(0, 20, (4, 6)), clip_model)
for name, param in model.named_parameters():
    if "prompt_learner" not in name:
        param.requires_grad_(False)
optim = torch.optim.SGD(model.prompt_learner.parameters(), lr=0.002)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, 4)
before = model.prompt_learner.ctx.detach().clone()

# %%
for epoch in range(2):
    for batch_idx in range(2):
        image, label = torch.randn(5, 12), torch.randint(0, 4, (5,))
        output = model(image)
        loss = F.cross_entropy(output, label)
        optim.zero_grad()
        loss.backward()
        optim.step()
        acc = output.max(1)[1].eq(label).float().mean()
        print({"loss": loss.item(), "acc": acc.item()})
    sched.step()
