# https://github.com/haotian-liu/LLaVA/issues/1449
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

IGNORE_INDEX = -100
IMAGE_TOKEN_INDEX = -200


class CLIPVisionModel(nn.Module):
    def __init__(self, hidden_size=24):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, hidden_size, 8, 8)
        layer = nn.TransformerEncoderLayer(hidden_size, 4, 48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, images):
        return self.encoder(self.patch_embedding(images).flatten(2).transpose(1, 2))


class CLIPVisionTower(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.is_loaded = False
        self.select_feature = args['mm_vision_select_feature']
        self.load_model()

    def load_model(self):
        self.vision_tower = CLIPVisionModel()
        self.vision_tower.requires_grad_(False)
        self.is_loaded = True

    def feature_select(self, image_features):
        if self.select_feature == 'patch':
            image_features = image_features[:, 1:]
        return image_features

    @torch.no_grad()
    def forward(self, images):
        if type(images) is list:
            image_features = []
            for image in images:
                image_feature = self.vision_tower(image.unsqueeze(0))
                image_features.append(self.feature_select(image_feature))
        else:
            image_features = self.feature_select(self.vision_tower(images))
        return image_features


class LlavaLlamaForCausalLM(nn.Module):
    def __init__(self, args, vocab=50, hidden_size=32):
        super().__init__()
        self.vision_tower = CLIPVisionTower(args)
        self.mm_projector = nn.Sequential(nn.Linear(24, hidden_size), nn.GELU(), nn.Linear(hidden_size, hidden_size))
        self.embed_tokens = nn.Embedding(vocab, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0.0, batch_first=True)
        self.model = nn.TransformerEncoder(layer, 2)
        self.lm_head = nn.Linear(hidden_size, vocab, bias=False)

    def encode_images(self, images):
        image_features = self.vision_tower(images)
        image_features = self.mm_projector(image_features)
        return image_features

    def prepare_inputs_labels_for_multimodal(self, input_ids, labels, images):
        image_features = self.encode_images(images)
        new_input_embeds, new_labels = [], []
        for cur_input_ids, cur_labels, cur_image in zip(input_ids, labels, image_features):
            at = int(torch.where(cur_input_ids == IMAGE_TOKEN_INDEX)[0][0])
            text = self.embed_tokens(torch.cat([cur_input_ids[:at], cur_input_ids[at + 1:]]))
            new_input_embeds.append(torch.cat([text[:at], cur_image, text[at:]]))
            ignored = torch.full((len(cur_image),), IGNORE_INDEX)
            new_labels.append(torch.cat([cur_labels[:at], ignored, cur_labels[at + 1:]]))
        return torch.stack(new_input_embeds), torch.stack(new_labels)

    def forward(self, input_ids, labels, images):
        inputs_embeds, labels = self.prepare_inputs_labels_for_multimodal(input_ids, labels, images)
        mask = nn.Transformer.generate_square_subsequent_mask(inputs_embeds.shape[1])
        logits = self.lm_head(self.model(inputs_embeds, mask=mask))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE_INDEX)


# %%
model = LlavaLlamaForCausalLM({'mm_vision_select_feature': 'patch'})
for p in model.vision_tower.parameters():
    p.requires_grad = True
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, weight_decay=0.)
input_ids = torch.randint(0, 50, (4, 8))
labels = input_ids.clone()
input_ids[:, 2] = IMAGE_TOKEN_INDEX
labels[:, :3] = IGNORE_INDEX
images = torch.rand(4, 3, 32, 32)

# %%
for step in range(5):
    loss = model(input_ids, labels, images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# %%
for name, p in model.vision_tower.named_parameters():
    print(name, p.requires_grad, None if p.grad is None else p.grad.norm().item())
