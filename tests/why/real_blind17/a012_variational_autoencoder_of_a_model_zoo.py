# https://github.com/rasbt/deep-learning-book/issues/59
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

##########################
### SETTINGS
##########################
random_seed = 0
learning_rate = 0.001
num_epochs = 30
batch_size = 128

# Architecture
num_features = 64
num_hidden_1 = 50
num_latent = 5

##########################
### DATASET
##########################
torch.manual_seed(random_seed)
prototypes = (torch.rand(10, num_features) > 0.6).float()
targets = torch.randint(0, 10, (1024,))
images = (0.9 * prototypes[targets] + 0.1 * torch.rand(1024, num_features)).view(-1, 1, 8, 8)
train_loader = DataLoader(dataset=TensorDataset(images, targets), batch_size=batch_size, shuffle=True)


##########################
### MODEL
##########################
class VariationalAutoencoder(torch.nn.Module):

    def __init__(self, num_features, num_hidden_1, num_latent):
        super(VariationalAutoencoder, self).__init__()

        ### ENCODER
        self.hidden_1 = torch.nn.Linear(num_features, num_hidden_1)
        self.z_mean = torch.nn.Linear(num_hidden_1, num_latent)
        self.z_log_var = torch.nn.Linear(num_hidden_1, num_latent)

        ### DECODER
        self.linear_3 = torch.nn.Linear(num_latent, num_hidden_1)
        self.linear_4 = torch.nn.Linear(num_hidden_1, num_features)

    def reparameterize(self, z_mu, z_log_var):
        # Sample epsilon from standard normal distribution
        eps = torch.randn(z_mu.size(0), z_mu.size(1))
        # note that log(x^2) = 2*log(x); hence divide by 2 to get std_dev
        z = z_mu + eps * torch.exp(z_log_var / 2.)
        return z

    def forward(self, x):
        x = F.relu(self.hidden_1(x))
        z_mean = self.z_mean(x)
        z_log_var = self.z_log_var(x)
        encoded = self.reparameterize(z_mean, z_log_var)

        x = F.relu(self.linear_3(encoded))
        decoded = torch.sigmoid(self.linear_4(x))
        return z_mean, z_log_var, encoded, decoded


model = VariationalAutoencoder(num_features, num_hidden_1, num_latent)
cost_fn = torch.nn.BCELoss()  # torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

# %%
for epoch in range(num_epochs):
    for batch_idx, (features, targets) in enumerate(train_loader):

        # don't need labels, only the images (features)
        features = features.view(-1, num_features)

        ### FORWARD AND BACK PROP
        z_mean, z_log_var, encoded, decoded = model(features)
        cost = cost_fn(decoded, features)
        optimizer.zero_grad()
        cost.backward()

        ### UPDATE MODEL PARAMETERS
        optimizer.step()

    print('Epoch: %03d/%03d | Cost: %.4f' % (epoch + 1, num_epochs, cost.item()))

# %%
# new images from the prior
n_images = 10
rand_features = torch.randn(n_images, num_latent)
with torch.no_grad():
    new_images = torch.sigmoid(model.linear_4(F.relu(model.linear_3(rand_features))))
print(new_images.shape, z_log_var.mean().item())
