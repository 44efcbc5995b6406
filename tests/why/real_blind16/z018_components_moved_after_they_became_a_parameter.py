# https://github.com/kevinzakka/torchnca/issues/5
import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)


class NCA:
    """Neighbourhood Components Analysis."""

    def __init__(self, dim=None, init="random", max_iters=50, dtype=torch.float64):
        self.dim = dim
        self.init = init
        self.max_iters = max_iters
        self.dtype = dtype
        self._losses = None

    def __call__(self, X):
        return torch.mm(X, torch.t(self.A))

    def _init_transformation(self):
        """Initialize the linear transformation A."""
        if self.dim is None:
            self.dim = self.num_dims
        if self.init == "random":
            a = torch.randn(self.dim, self.num_dims) * 0.01
            self.A = torch.nn.Parameter(a).to(self.dtype)
        elif self.init == "identity":
            a = torch.eye(self.dim, self.num_dims)
            self.A = torch.nn.Parameter(a.to(self.dtype))
        else:
            raise ValueError("[!] {} initialization is not supported.".format(self.init))

    @staticmethod
    def _pairwise_l2_sq(x):
        dot = torch.mm(x, torch.t(x))
        norm_sq = torch.diag(dot)
        dist = norm_sq[None, :] - 2 * dot + norm_sq[:, None]
        return torch.clamp(dist, min=0)

    def loss(self, X, y_mask):
        distances = self._pairwise_l2_sq(self(X))
        same = torch.eye(len(X), dtype=torch.bool)
        p_ij = torch.softmax((-distances).masked_fill(same, -np.inf), dim=1)
        p_i = (p_ij * y_mask).sum(dim=1)
        return -torch.log(torch.masked_select(p_i, p_i != 0)).sum()

    def train(self, X, y, lr=1e-4, weight_decay=10):
        self._losses = []
        self.num_train, self.num_dims = X.shape
        self._init_transformation()
        optimizer = torch.optim.SGD([self.A], lr=lr, momentum=0.9, weight_decay=weight_decay)
        y_mask = y[:, None] == y[None, :]
        for epoch in range(self.max_iters):
            optimizer.zero_grad()
            loss = self.loss(X, y_mask)
            self._losses.append(loss.item())
            loss.backward()
            optimizer.step()


def gen_data(num_samples, num_classes, mean, std):
    num_samples_per = num_samples // num_classes
    X, y = [], []
    for i in range(num_classes):
        t = np.linspace(-np.pi, np.pi, num_samples_per)
        # first two dimensions are that of a circle
        x1 = (i + 2.5) * np.cos(t) + 0.2 * np.random.randn(num_samples_per)
        x2 = (i + 2.5) * np.sin(t) + 0.2 * np.random.randn(num_samples_per)
        # third dimension is Gaussian noise
        x3 = std * np.random.randn(num_samples_per) + mean
        X.append(np.stack([x1, x2, x3]))
        y.append(np.repeat(i, num_samples_per))
    return np.concatenate(X, axis=1).T, np.concatenate(y)


X, y = gen_data(60, 3, 0, 2)
X, y = torch.from_numpy(X), torch.from_numpy(y)

# %%
nca = NCA(dim=2, init="random")
nca.train(X, y)
print(nca._losses[0], nca._losses[-1])
