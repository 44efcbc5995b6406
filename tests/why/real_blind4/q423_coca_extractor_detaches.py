# https://github.com/lucidrains/CoCa-pytorch/issues/6
import torch
import torch.nn.functional as F
from torch import einsum, nn

torch.manual_seed(0)


def exists(val):
    return val is not None


class ViT(nn.Module):
    def __init__(self, image_size=16, patch_size=8, dim=16, depth=1, heads=2):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch_size, patch_size)
        self.pos_embedding = nn.Parameter(torch.randn(1, (image_size // patch_size) ** 2, dim))
        self.transformer = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0., batch_first=True), depth)
        self.mlp_head = nn.Linear(dim, 10)

    def forward(self, img):
        x = self.patch(img).flatten(2).transpose(1, 2) + self.pos_embedding
        x = self.transformer(x)
        return self.mlp_head(x.mean(dim=1))


class Extractor(nn.Module):
    def __init__(self, vit, layer_name='transformer', return_embeddings_only=False):
        super().__init__()
        self.vit = vit
        self.latents = None
        self.hooks = []
        self.hook_registered = False
        self.layer_name = layer_name
        self.return_embeddings_only = return_embeddings_only

    def _hook(self, _, input, output):
        self.latents = output.clone().detach()

    def _register_hook(self):
        layer = getattr(self.vit, self.layer_name)
        handle = layer.register_forward_hook(self._hook)
        self.hooks.append(handle)
        self.hook_registered = True

    def forward(self, img):
        if not self.hook_registered:
            self._register_hook()
        pred = self.vit(img)
        latents = self.latents
        if self.return_embeddings_only:
            return latents
        return pred, latents


class CoCa(nn.Module):
    def __init__(self, *, dim, num_tokens, img_encoder, contrastive_loss_weight=1., caption_loss_weight=1.):
        super().__init__()
        self.img_encoder = img_encoder
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.text_cls_token = nn.Parameter(torch.randn(dim))
        self.unimodal = nn.TransformerEncoderLayer(dim, 2, dim * 2, dropout=0., batch_first=True)
        self.cross_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.to_logits = nn.Linear(dim, num_tokens, bias=False)
        self.temperature = nn.Parameter(torch.Tensor([1.]))
        self.contrastive_loss_weight, self.caption_loss_weight = contrastive_loss_weight, caption_loss_weight

    def embed_text(self, text):
        tokens = torch.cat((self.token_emb(text), self.text_cls_token.expand(text.shape[0], 1, -1)), dim=1)
        mask = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        tokens = self.unimodal(tokens, src_mask=mask)
        return tokens[:, -1], tokens[:, :-1]

    def embed_image(self, images=None, image_tokens=None):
        if exists(images):
            image_tokens = self.img_encoder(images)
        return image_tokens.mean(dim=1), image_tokens

    def forward(self, text, images=None, labels=None):
        if not exists(labels):
            text, labels = text[:, :-1], text[:, 1:]
        text_embeds, text_tokens = self.embed_text(text)
        image_embeds, image_tokens = self.embed_image(images=images)
        text_tokens = text_tokens + self.cross_attn(text_tokens, image_tokens, image_tokens)[0]
        logits = self.to_logits(text_tokens)

        caption_loss = F.cross_entropy(logits.transpose(1, 2), labels) * self.caption_loss_weight
        sim = einsum('i d, j d -> i j', text_embeds, image_embeds) * self.temperature.exp()
        contrastive_labels = torch.arange(text.shape[0])
        contrastive_loss = (F.cross_entropy(sim, contrastive_labels) + F.cross_entropy(sim.t(), contrastive_labels)) * 0.5
        return caption_loss + contrastive_loss * self.contrastive_loss_weight


# %%
vit = ViT()
coca = CoCa(dim=16, num_tokens=50, img_encoder=Extractor(vit, return_embeddings_only=True))
opt = torch.optim.Adam(coca.parameters(), lr=1e-3)

# %%
for _ in range(2):
    text = torch.randint(0, 50, (4, 9))
    images = torch.randn(4, 3, 16, 16)
    loss = coca(text=text, images=images)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
