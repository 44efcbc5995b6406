# https://github.com/HengyiWang/Co-SLAM/issues/12
import torch
import torch.nn as nn

torch.manual_seed(0)


class JointEncoding(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_fn = nn.Linear(3, 16)
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(16, 4))

    def forward(self, rays_o, rays_d, target_rgb):
        rgb = torch.sigmoid(self.decoder(torch.sin(self.embed_fn(rays_o + rays_d)))[:, :3])
        return {'rgb_loss': nn.functional.mse_loss(rgb, target_rgb)}


class CoSLAM:
    def __init__(self):
        self.model = JointEncoding()
        self.map_optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2, betas=(0.9, 0.99))

    def freeze_model(self):
        '''
        Freeze the model parameters
        '''
        for param in self.model.embed_fn.parameters():
            param.require_grad = False

        for param in self.model.decoder.parameters():
            param.require_grad = False

    def mapping(self, rays_o, rays_d, rgb, iters=3):
        for i in range(iters):
            self.map_optimizer.zero_grad()
            loss = self.model(rays_o, rays_d, rgb)['rgb_loss']
            loss.backward()
            self.map_optimizer.step()
        return loss

    def tracking(self, cur_trans, rays_o, rays_d, rgb, iters=5):
        self.freeze_model()
        pose_optimizer = torch.optim.Adam([{"params": cur_trans, "lr": 1e-3}])
        for i in range(iters):
            pose_optimizer.zero_grad()
            loss = self.model(rays_o + cur_trans, rays_d, rgb)['rgb_loss']
            loss.backward()
            pose_optimizer.step()
        return loss


# %%
slam = CoSLAM()
rays_o, rays_d, rgb = torch.zeros(64, 3), torch.randn(64, 3), torch.rand(64, 3)
map_moved_in_tracking = False

# %%
for frame in range(3):
    map_loss = slam.mapping(rays_o, rays_d, rgb)
    kept = slam.model.embed_fn.weight.detach().clone()
    cur_trans = torch.nn.parameter.Parameter(0.1 * torch.randn(3))
    first_trans = cur_trans.detach().clone()
    track_loss = slam.tracking(cur_trans, rays_o, rays_d, rgb)
    map_moved_in_tracking = map_moved_in_tracking or not torch.equal(kept, slam.model.embed_fn.weight)
    print(frame, map_loss.item(), track_loss.item())
