# https://github.com/qianyu-dlut/MVANet/issues/2
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def get_activation_fn(activation):
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}.")


class MCLM(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MCLM, self).__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout=0.1)
        self.linear1 = nn.Linear(d_model, d_model * 2)
        self.linear2 = nn.Linear(d_model * 2, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(0.1)
        self.dropout1 = nn.Dropout(0.1)
        self.dropout2 = nn.Dropout(0.1)
        self.activation = get_activation_fn('relu')

    def forward(self, l, g):
        g_hw_b_c = g.flatten(2).permute(2, 0, 1)
        l_hw_b_c = l.flatten(2).permute(2, 0, 1)
        g_hw_b_c = g_hw_b_c + self.dropout1(self.attention(g_hw_b_c, l_hw_b_c, l_hw_b_c)[0])
        g_hw_b_c = self.norm1(g_hw_b_c)
        g_hw_b_c = g_hw_b_c + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(g_hw_b_c)))))
        return self.norm2(g_hw_b_c).permute(1, 2, 0).reshape_as(g)


class MVANet(nn.Module):
    def __init__(self, emb_dim=16):
        super(MVANet, self).__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, emb_dim, 3, 4, 1), nn.BatchNorm2d(emb_dim), nn.ReLU())
        self.multifieldcrossatt = MCLM(emb_dim, 2)
        self.sideout = nn.Conv2d(emb_dim, 1, 3, padding=1)

        for m in self.modules():
            if isinstance(m, nn.ReLU) or isinstance(m, nn.Dropout):
                m.inplace = True

    def forward(self, x):
        loc = self.backbone(x)
        glb = self.backbone(F.interpolate(x, scale_factor=0.5, mode='bilinear'))
        return self.sideout(self.multifieldcrossatt(loc, glb))


# %%
model = MVANet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

# %%
images, gts = torch.rand(2, 3, 32, 32), (torch.rand(2, 1, 4, 4) > 0.5).float()
optimizer.zero_grad()
sideout = model(images)
loss = F.binary_cross_entropy_with_logits(sideout, gts)
loss.backward()
optimizer.step()
print(loss.item())
