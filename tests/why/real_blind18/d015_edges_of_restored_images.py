# https://github.com/DCurro/CannyEdgePytorch/issues/5
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, threshold=10.0):
        super(Net, self).__init__()
        self.threshold = threshold

        filter_size = 5
        generated_filters = torch.exp(-torch.linspace(-2, 2, filter_size) ** 2 / 2).reshape(1, filter_size)
        self.gaussian_filter_horizontal = nn.Conv2d(1, 1, kernel_size=(1, filter_size), padding=(0, filter_size // 2))
        self.gaussian_filter_vertical = nn.Conv2d(1, 1, kernel_size=(filter_size, 1), padding=(filter_size // 2, 0))
        self.gaussian_filter_horizontal.weight.data.copy_(generated_filters)
        self.gaussian_filter_vertical.weight.data.copy_(generated_filters.T)

        sobel_filter = torch.tensor([[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]])
        self.sobel_filter_horizontal = nn.Conv2d(1, 1, kernel_size=3, padding=1)
        self.sobel_filter_vertical = nn.Conv2d(1, 1, kernel_size=3, padding=1)
        self.sobel_filter_horizontal.weight.data.copy_(sobel_filter)
        self.sobel_filter_vertical.weight.data.copy_(sobel_filter.T)

        # the pixel minus one of its neighbours
        all_filters = torch.zeros(8, 1, 3, 3)
        all_filters[:, 0, 1, 1] = 1
        for i, (y, x) in enumerate([(1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0), (0, 1), (0, 2)]):
            all_filters[i, 0, y, x] = -1
        self.directional_filter = nn.Conv2d(1, 8, kernel_size=3, padding=1)
        self.directional_filter.weight.data.copy_(all_filters)
        for name, param in self.named_parameters():
            if name.endswith('bias'):
                param.data.zero_()

    def forward(self, img):
        img_r, img_g, img_b = torch.split(img, 1, dim=1)

        blurred_img_r = self.gaussian_filter_vertical(self.gaussian_filter_horizontal(img_r))
        blurred_img_g = self.gaussian_filter_vertical(self.gaussian_filter_horizontal(img_g))
        blurred_img_b = self.gaussian_filter_vertical(self.gaussian_filter_horizontal(img_b))

        grad_x_r = self.sobel_filter_horizontal(blurred_img_r)
        grad_y_r = self.sobel_filter_vertical(blurred_img_r)
        grad_x_g = self.sobel_filter_horizontal(blurred_img_g)
        grad_y_g = self.sobel_filter_vertical(blurred_img_g)
        grad_x_b = self.sobel_filter_horizontal(blurred_img_b)
        grad_y_b = self.sobel_filter_vertical(blurred_img_b)

        # COMPUTE THICK EDGES
        grad_mag = torch.sqrt(grad_x_r**2 + grad_y_r**2)
        grad_mag += torch.sqrt(grad_x_g**2 + grad_y_g**2)
        grad_mag += torch.sqrt(grad_x_b**2 + grad_y_b**2)
        grad_orientation = torch.atan2(grad_y_r + grad_y_g + grad_y_b, grad_x_r + grad_x_g + grad_x_b)
        grad_orientation = grad_orientation * (180.0 / 3.14159)
        grad_orientation += 180.0
        grad_orientation = torch.round(grad_orientation / 45.0) * 45.0

        # THIN EDGES (NON-MAX SUPPRESSION)
        all_filtered = self.directional_filter(grad_mag)
        indices_positive = ((grad_orientation / 45) % 8).long()
        indices_negative = ((grad_orientation / 45 + 4) % 8).long()
        channel_select_filtered_positive = all_filtered.gather(1, indices_positive)
        channel_select_filtered_negative = all_filtered.gather(1, indices_negative)
        channel_select_filtered = torch.stack([channel_select_filtered_positive, channel_select_filtered_negative])
        is_max = channel_select_filtered.min(dim=0)[0] > 0.0

        thin_edges = grad_mag.clone()
        thin_edges[is_max == 0] = 0.0

        # THRESHOLD
        thresholded = thin_edges.clone()
        thresholded[thin_edges < self.threshold] = 0.0
        return grad_mag, grad_orientation, thin_edges, thresholded


# %%
restorer = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
canny = Net(threshold=3.0)
for param in canny.parameters():
    param.requires_grad = False
optimizer = torch.optim.Adam(restorer.parameters(), lr=1e-3)

# %%
for step in range(3):
    clean = torch.rand(2, 3, 16, 16)
    noisy = clean + 0.1 * torch.randn_like(clean)
    restored = restorer(noisy)
    edges, edges_of_clean = canny(restored)[2], canny(clean)[2]
    loss = nn.functional.l1_loss(restored, clean) + 0.1 * nn.functional.l1_loss(edges, edges_of_clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
