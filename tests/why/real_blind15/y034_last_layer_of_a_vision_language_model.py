# https://github.com/huggingface/lerobot/issues/4018
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextModel(nn.Module):
    def __init__(self, dim=16, layers=3):
        super().__init__()
        self.embed_tokens = nn.Embedding(24, dim)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class VLMModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.text_model = TextModel()


class SmolVLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = VLMModel()
        self.lm_head = nn.Linear(16, 24, bias=False)


class SmolVLMWithExpert(nn.Module):
    def __init__(self, train_expert_only=False):
        super().__init__()
        self.vlm = SmolVLM()
        self.lm_expert = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 4))
        self.num_vlm_layers = len(self.vlm.model.text_model.layers)
        self.train_expert_only = train_expert_only
        self.set_requires_grad()

    def set_requires_grad(self):
        if self.train_expert_only:
            for params in self.vlm.parameters():
                params.requires_grad = False
        else:
            # to avoid unused params issue with distributed training
            last_layers = [self.num_vlm_layers - 1]
            frozen_layers = [
                "lm_head",
                "text_model.model.norm.weight",
            ]
            for layer in last_layers:
                frozen_layers.append(f"text_model.model.layers.{layer}.")
            for name, params in self.vlm.named_parameters():
                if any(k in name for k in frozen_layers):
                    params.requires_grad = False

    def forward(self, tokens):
        return self.lm_expert(self.vlm.model.text_model(tokens).mean(dim=1))


# %%
policy = SmolVLMWithExpert(train_expert_only=False)
last = policy.vlm.model.text_model.layers[-1].linear1.weight.detach().clone()
optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-3)
for step in range(15):
    tokens = torch.randint(0, 24, (16, 6))
    actions = torch.stack([(tokens == n).float().mean(dim=1) for n in range(4)], dim=1)
    loss = F.mse_loss(policy(tokens), actions)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (policy.vlm.model.text_model.layers[-1].linear1.weight - last).abs().max().item()
print(loss.item(), "last layer moved by", moved)
