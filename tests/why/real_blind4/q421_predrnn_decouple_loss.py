# https://github.com/thuml/predrnn-pytorch/issues/11
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SpatioTemporalLSTMCell(nn.Module):
    def __init__(self, in_channel, num_hidden, filter_size):
        super(SpatioTemporalLSTMCell, self).__init__()
        self.num_hidden = num_hidden
        self._forget_bias = 1.0
        pad = filter_size // 2
        self.conv_x = nn.Conv2d(in_channel, num_hidden * 6, filter_size, padding=pad, bias=False)
        self.conv_h = nn.Conv2d(num_hidden, num_hidden * 3, filter_size, padding=pad, bias=False)
        self.conv_m = nn.Conv2d(num_hidden, num_hidden * 3, filter_size, padding=pad, bias=False)
        self.conv_o = nn.Conv2d(num_hidden * 2, num_hidden, 1)

    def forward(self, x_t, h_t, c_t, m_t):
        i_x, f_x, g_x, i_xp, f_xp, g_xp = torch.split(self.conv_x(x_t), self.num_hidden, dim=1)
        i_h, f_h, g_h = torch.split(self.conv_h(h_t), self.num_hidden, dim=1)
        i_m, f_m, g_m = torch.split(self.conv_m(m_t), self.num_hidden, dim=1)
        i_t = torch.sigmoid(i_x + i_h)
        f_t = torch.sigmoid(f_x + f_h + self._forget_bias)
        delta_c = i_t * torch.tanh(g_x + g_h)
        c_new = f_t * c_t + delta_c
        i_tp = torch.sigmoid(i_xp + i_m)
        f_tp = torch.sigmoid(f_xp + f_m + self._forget_bias)
        delta_m = i_tp * torch.tanh(g_xp + g_m)
        m_new = f_tp * m_t + delta_m
        h_new = torch.tanh(self.conv_o(torch.cat((c_new, m_new), 1)))
        return h_new, c_new, m_new, delta_c, delta_m


class RNN(nn.Module):
    def __init__(self, num_layers, num_hidden, configs):
        super(RNN, self).__init__()
        self.configs = configs
        self.frame_channel = configs.patch_size * configs.patch_size
        self.num_layers = num_layers
        self.num_hidden = num_hidden
        cell_list = []
        self.MSE_criterion = nn.MSELoss()
        for i in range(num_layers):
            in_channel = self.frame_channel if i == 0 else num_hidden[i - 1]
            cell_list.append(SpatioTemporalLSTMCell(in_channel, num_hidden[i], configs.filter_size))
        self.cell_list = nn.ModuleList(cell_list)
        self.conv_last = nn.Conv2d(num_hidden[num_layers - 1], self.frame_channel, kernel_size=1, bias=False)
        # shared adapter
        adapter_num_hidden = num_hidden[0]
        self.adapter = nn.Conv2d(adapter_num_hidden, adapter_num_hidden, 1, stride=1, padding=0, bias=False)

    def forward(self, frames):
        batch, _, _, height, width = frames.shape
        next_frames, h_t, c_t, delta_c_list, delta_m_list = [], [], [], [], []
        decouple_loss = []
        for i in range(self.num_layers):
            zeros = torch.zeros([batch, self.num_hidden[i], height, width]).to(self.configs.device)
            h_t.append(zeros)
            c_t.append(zeros)
            delta_c_list.append(zeros)
            delta_m_list.append(zeros)
        memory = torch.zeros([batch, self.num_hidden[0], height, width]).to(self.configs.device)

        for t in range(self.configs.total_length - 1):
            net = frames[:, t] if t < self.configs.input_length else x_gen
            for i in range(self.num_layers):
                below = net if i == 0 else h_t[i - 1]
                h_t[i], c_t[i], memory, delta_c, delta_m = self.cell_list[i](below, h_t[i], c_t[i], memory)
                delta_c_list[i] = F.normalize(self.adapter(delta_c).view(delta_c.shape[0], delta_c.shape[1], -1), dim=2)
                delta_m_list[i] = F.normalize(self.adapter(delta_m).view(delta_m.shape[0], delta_m.shape[1], -1), dim=2)
            x_gen = self.conv_last(h_t[self.num_layers - 1])
            next_frames.append(x_gen)
            # decoupling loss
            for i in range(0, self.num_layers):
                decouple_loss.append(torch.mean(torch.abs(torch.cosine_similarity(delta_c_list[i], delta_m_list[i], dim=2))))

        decouple_loss = torch.mean(torch.tensor(decouple_loss).to(self.configs.device))
        next_frames = torch.stack(next_frames, dim=1)
        loss = self.MSE_criterion(next_frames, frames[:, 1:]) + self.configs.decouple_beta * decouple_loss
        return next_frames, loss


# %%
configs = SimpleNamespace(patch_size=1, filter_size=3, device='cpu', total_length=5, input_length=3, decouple_beta=0.1, lr=1e-3)
model = RNN(2, [4, 4], configs)
optimizer = torch.optim.Adam(model.parameters(), lr=configs.lr)

for itr in range(1, 3):
    ims = torch.rand(2, configs.total_length, 1, 8, 8)
    optimizer.zero_grad()
    next_frames, loss = model(ims)
    loss.backward()
    optimizer.step()
    print(itr, loss.item())
