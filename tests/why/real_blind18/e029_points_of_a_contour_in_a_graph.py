# https://github.com/hehao13/EBLNet/issues/9
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GCN(nn.Module):
    """Mixes node_num nodes of node_fea features: first over the nodes, then over the features."""

    def __init__(self, node_num, node_fea):
        super(GCN, self).__init__()
        self.conv_adj = nn.Conv1d(node_num, node_num, kernel_size=1, bias=False)
        self.bn_adj = nn.BatchNorm1d(node_num)
        self.conv_wg = nn.Conv1d(node_fea, node_fea, kernel_size=1, bias=False)
        self.bn_wg = nn.BatchNorm1d(node_fea)
        self.relu = nn.ReLU()

    def forward(self, x):
        z = self.relu(self.bn_adj(self.conv_adj(x)))

        # Laplacian smoothing
        z += x
        z = self.relu(self.bn_wg(self.conv_wg(z.transpose(1, 2))))
        return z.transpose(1, 2)


class ContourPointGCN(nn.Module):
    """Lets the points that are most likely on an edge exchange their features."""

    def __init__(self, inplane, num_points, threshold=0.8):
        super(ContourPointGCN, self).__init__()
        self.num_points = num_points
        self.threshold = threshold
        self.gcn = GCN(num_points, inplane)

    def pick_points(self, edge):
        certain = torch.where(edge < self.threshold, torch.zeros_like(edge), edge)
        return certain.flatten(1).topk(self.num_points, dim=1).indices

    def forward(self, x, edge):
        channels = x.size(1)
        index = self.pick_points(edge).unsqueeze(1).repeat(1, channels, 1)
        flat = x.flatten(2)
        points = flat.gather(2, index).transpose(1, 2)
        reasoned = self.gcn(points).transpose(1, 2)
        return flat.scatter(2, index, reasoned).view_as(x)


class EBLNet(nn.Module):
    def __init__(self, num_classes=2, width=16, num_points=24):
        super(EBLNet, self).__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.body_fuse = nn.Conv2d(width, width, 1)
        self.edge_out = nn.Conv2d(width, 1, 1)
        self.refine = ContourPointGCN(width, num_points)
        self.final_seg = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        fine = self.backbone(x)
        edge = self.edge_out(fine)
        body = self.refine(self.body_fuse(fine), torch.sigmoid(edge))
        return self.final_seg(body), edge


# %%
net = EBLNet()
optim = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
inputs = torch.randn(4, 3, 16, 16)
gts = torch.randint(0, 2, (4, 16, 16))
edges = torch.rand(4, 1, 16, 16).round()

# %%
optim.zero_grad()
seg_out, edge_out = net(inputs)
seg_loss = F.cross_entropy(seg_out, gts)
edge_loss = F.binary_cross_entropy_with_logits(edge_out, edges)
main_loss = seg_loss + 3 * edge_loss
main_loss.backward()
optim.step()
print(main_loss.item())
