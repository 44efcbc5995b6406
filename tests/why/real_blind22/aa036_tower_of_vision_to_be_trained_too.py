# https://github.com/BAAI-DCAI/Bunny/issues/130
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SiglipVisionModel(nn.Module):
    def __init__(self, hidden_size=32, patch_size=8, image_size=32, num_layers=3):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, hidden_size, patch_size, patch_size)
        self.position_embedding = nn.Parameter(0.02 * torch.randn(1, (image_size // patch_size) ** 2, hidden_size))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0., batch_first=True) for _ in range(num_layers))

    @property
    def dtype(self):
        return self.patch_embedding.weight.dtype

    @property
    def device(self):
        return self.patch_embedding.weight.device

    def forward(self, pixel_values, output_hidden_states=True):
        x = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2) + self.position_embedding
        hidden_states = [x]
        for layer in self.layers:
            hidden_states.append(layer(hidden_states[-1]))
        return hidden_states


class SiglipVisionTower(nn.Module):
    def __init__(self, vision_tower_cfg, delay_load=False):
        super().__init__()
        self.is_loaded = False
        self.vision_tower_name = vision_tower_cfg
        self.select_layer = -2
        if not delay_load:
            self.load_model()

    def load_model(self):
        if self.is_loaded:
            return
        self.vision_tower = SiglipVisionModel()
        self.vision_tower.requires_grad_(False)
        self.is_loaded = True

    @torch.no_grad()
    def forward(self, images):
        if type(images) is list:
            image_features = []
            for image in images:
                image_forward_out = self.vision_tower(image.unsqueeze(0), output_hidden_states=True)
                image_features.append(image_forward_out[self.select_layer].to(image.dtype))
        else:
            image_forward_outs = self.vision_tower(images.to(self.vision_tower.dtype), output_hidden_states=True)
            image_features = image_forward_outs[self.select_layer].to(images.dtype)
        return image_features


class BunnyForCausalLM(nn.Module):
    def __init__(self, vocab_size=40, hidden_size=48):
        super().__init__()
        self.vision_tower = SiglipVisionTower('siglip-so400m-patch14-384')
        self.mm_projector = nn.Sequential(nn.Linear(32, hidden_size), nn.GELU(), nn.Linear(hidden_size, hidden_size))
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.layer = nn.TransformerEncoderLayer(hidden_size, 4, 96, dropout=0., batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def encode_images(self, images):
        return self.mm_projector(self.vision_tower(images))

    def forward(self, input_ids, images, labels):
        visual = self.encode_images(images)
        inputs_embeds = torch.cat([visual, self.embed_tokens(input_ids)], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(inputs_embeds.size(1))
        logits = self.lm_head(self.layer(inputs_embeds, src_mask=mask))[:, visual.size(1):]
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


# %%
unfreeze_vision_tower = True
model = BunnyForCausalLM()
if unfreeze_vision_tower:
    for p in model.vision_tower.parameters():
        p.requires_grad = True
optimizer_grouped_parameters = [
    {'params': [p for n, p in model.named_parameters() if p.requires_grad and 'mm_projector' not in n], 'lr': 1e-3},
    {'params': [p for n, p in model.named_parameters() if p.requires_grad and 'mm_projector' in n], 'lr': 2e-3},
]
optimizer = torch.optim.AdamW(optimizer_grouped_parameters, weight_decay=0.)
tower_before = {n: p.detach().clone() for n, p in model.vision_tower.named_parameters()}

# %%
for step in range(4):
    images = torch.randn(4, 3, 32, 32)
    input_ids = torch.randint(0, 40, (4, 10))
    loss = model(input_ids, images, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)

unchanged = [n for n, p in model.vision_tower.named_parameters() if torch.equal(p, tower_before[n])]
print(len(unchanged), 'of', len(tower_before), 'parameters of the vision tower as before')
