# https://github.com/Tsinghua-MARS-Lab/DenseTNT/issues/11
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
hidden_size, future_frame_num = 16, 6


class MLP(nn.Module):
    def __init__(self, hidden_size, out_features=None):
        super(MLP, self).__init__()
        if out_features is None:
            out_features = hidden_size
        self.linear = nn.Linear(hidden_size, out_features)
        self.layer_norm = nn.LayerNorm(out_features)

    def forward(self, hidden_states):
        return F.relu(self.layer_norm(self.linear(hidden_states)))


class DecoderResCat(nn.Module):
    def __init__(self, hidden_size, in_features, out_features=60):
        super(DecoderResCat, self).__init__()
        self.mlp = MLP(in_features, hidden_size)
        self.fc = nn.Linear(hidden_size + in_features, out_features)

    def forward(self, hidden_states):
        hidden_states = torch.cat([hidden_states, self.mlp(hidden_states)], dim=-1)
        return self.fc(hidden_states)


class Decoder(nn.Module):
    def __init__(self):
        super(Decoder, self).__init__()
        self.goals_2D_mlps = nn.Sequential(MLP(2, hidden_size), MLP(hidden_size), MLP(hidden_size))
        self.complete_traj_decoder = DecoderResCat(hidden_size, hidden_size * 2, out_features=future_frame_num * 2)

    def goals_2D_per_example_calc_loss(self, i, hidden_states, loss, gt_points):
        final_idx = -1
        target_feature = self.goals_2D_mlps(gt_points[i, final_idx])
        if True:
            target_feature.detach_()
            predict_traj = self.complete_traj_decoder(
                torch.cat([hidden_states[i, 0, :].detach(), target_feature], dim=-1)).view([future_frame_num, 2])
        loss[i] += F.smooth_l1_loss(predict_traj, gt_points[i], reduction='none').mean()

    def forward(self, hidden_states, gt_points):
        batch_size = len(gt_points)
        loss = torch.zeros(batch_size)
        for i in range(batch_size):
            self.goals_2D_per_example_calc_loss(i, hidden_states, loss, gt_points)
        return loss.mean()


# %%
model = Decoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
hidden_states = torch.randn(8, 1, hidden_size)
gt_points = torch.randn(8, future_frame_num, 2).cumsum(1)

for epoch in range(3):
    loss = model(hidden_states, gt_points)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for name, param in model.named_parameters():
    print(name, param.grad is not None)
