# https://github.com/nianticlabs/monodepth2/issues/24
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Options:
    num_epochs = 1
    learning_rate = 1e-4
    disparity_smoothness = 1e-3
    log_frequency = 2


class DepthDecoder(nn.Module):
    def __init__(self):
        super(DepthDecoder, self).__init__()
        self.upconv = nn.Conv2d(8, 8, 3, padding=1)
        self.dispconv = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, features):
        x = F.elu(self.upconv(F.interpolate(features, scale_factor=2, mode="nearest")))
        return {("disp", 0): torch.sigmoid(self.dispconv(x))}


def get_smooth_loss(disp, img):
    grad_disp_x = torch.abs(disp[:, :, :, :-1] - disp[:, :, :, 1:])
    grad_img_x = torch.mean(torch.abs(img[:, :, :, :-1] - img[:, :, :, 1:]), 1, keepdim=True)
    return (grad_disp_x * torch.exp(-grad_img_x)).mean()


class Trainer:
    def __init__(self, options):
        self.opt = options
        self.models = {}
        self.parameters_to_train = []
        self.models["encoder"] = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU())
        self.parameters_to_train += list(self.models["encoder"].parameters())
        self.models["depth"] = DepthDecoder()
        self.parameters_to_train += list(self.models["depth"].parameters())
        self.model_optimizer = optim.Adam(self.parameters_to_train, self.opt.learning_rate)
        self.train_loader = [{("color", 0): torch.rand(2, 3, 16, 16), "depth_gt": torch.rand(2, 1, 16, 16)} for _ in range(4)]
        self.val_loader = [{("color", 0): torch.rand(2, 3, 16, 16), "depth_gt": torch.rand(2, 1, 16, 16)} for _ in range(2)]
        self.val_iter = iter(self.val_loader)
        self.step = 0

    def set_train(self):
        for m in self.models.values():
            m.train()

    def set_eval(self):
        for m in self.models.values():
            m.eval()

    def train(self):
        for self.epoch in range(self.opt.num_epochs):
            self.run_epoch()

    def run_epoch(self):
        self.set_train()
        for batch_idx, inputs in enumerate(self.train_loader):
            outputs, losses = self.process_batch(inputs)
            self.model_optimizer.zero_grad()
            losses["loss"].backward()
            self.model_optimizer.step()
            if batch_idx % self.opt.log_frequency == 0:
                self.val()
            self.step += 1

    def process_batch(self, inputs):
        features = self.models["encoder"](inputs["color", 0])
        outputs = self.models["depth"](features)
        losses = self.compute_losses(inputs, outputs)
        return outputs, losses

    def val(self):
        """Validate the model on a single minibatch"""
        self.set_eval()
        try:
            inputs = next(self.val_iter)
        except StopIteration:
            self.val_iter = iter(self.val_loader)
            inputs = next(self.val_iter)

        with torch.no_grad():
            outputs, losses = self.process_batch(inputs)
            losses["loss"].backward()
            print("val", self.step, losses["loss"].item())
            del inputs, outputs, losses
        self.set_train()

    def compute_losses(self, inputs, outputs):
        losses = {}
        disp = outputs[("disp", 0)]
        loss = torch.abs(disp - inputs["depth_gt"]).mean()
        mean_disp = disp.mean(2, True).mean(3, True)
        loss = loss + self.opt.disparity_smoothness * get_smooth_loss(disp / (mean_disp + 1e-7), inputs["color", 0])
        losses["loss"] = loss
        return losses


# %%
trainer = Trainer(Options())
trainer.train()
