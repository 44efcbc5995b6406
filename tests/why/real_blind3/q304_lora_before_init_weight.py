# https://github.com/nvidia-cosmos/cosmos-predict2.5/pull/15
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        self.scaling = lora_alpha / r
        self.reset_lora_parameters()

    def reset_lora_parameters(self):
        nn.init.kaiming_uniform_(self.lora_A.weight, a=5 ** 0.5)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.scaling * self.lora_B(self.lora_A(x))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(dim, dim) for _ in range(3))
        self.output_proj = nn.Linear(dim, dim)

    def forward(self, x):
        y = self.norm(x)
        y = F.scaled_dot_product_attention(self.q_proj(y), self.k_proj(y), self.v_proj(y))
        return x + self.output_proj(y)


class MiniTrainDIT(nn.Module):
    def __init__(self, dim=16, num_blocks=2):
        super().__init__()
        self.x_embedder = nn.Linear(8, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(num_blocks))
        self.final_layer = nn.Linear(dim, 8)

    def init_weights(self):
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and 'lora_' not in name:
                nn.init.trunc_normal_(module.weight, std=0.2)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def forward(self, x):
        x = self.x_embedder(x)
        for block in self.blocks:
            x = block(x)
        return self.final_layer(x)


# %%
class Text2WorldModel:
    def __init__(self, config):
        self.config = config
        with torch.device('meta'):
            self.net = MiniTrainDIT()
        if config['use_lora']:
            self.add_lora(self.net)
        self.materialize()
        self.net.init_weights()

    def materialize(self):
        self.net.to_empty(device='cpu')
        for p in self.net.parameters():  # the memory that we get is zeroed
            p.data.zero_()

    def add_lora(self, network):
        network.requires_grad_(False)
        for block in network.blocks:
            for name in self.config['lora_target_modules'].split(','):
                setattr(block, name, LoraLinear(getattr(block, name)))


# %%
config = {'use_lora': True, 'lora_target_modules': 'q_proj,k_proj,v_proj,output_proj'}
model = Text2WorldModel(config)
params = [p for p in model.net.parameters() if p.requires_grad]
print('trainable', sum(p.numel() for p in params))
optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.0)

for iteration in range(4):
    latents, noise = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    loss = F.mse_loss(model.net(latents + noise), noise - latents)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iteration, loss.item())
