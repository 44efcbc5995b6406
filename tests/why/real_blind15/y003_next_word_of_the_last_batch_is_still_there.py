# https://github.com/GBLin5566/toward-controlled-generation-of-text-pytorch/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

max_features, hidden_dim, c_dim, maxlen, batch_size = 12, 16, 2, 6, 8


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(max_features, hidden_dim)
        self.rnn = nn.GRU(hidden_dim, hidden_dim, batch_first=True)
        self.mean = nn.Linear(hidden_dim, hidden_dim)
        self.sigma = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, sentence):
        _, h = self.rnn(self.embedding(sentence))
        self.z_mean, self.z_sigma = self.mean(h[0]), F.softplus(self.sigma(h[0]))
        return self.z_mean + self.z_sigma * torch.randn_like(self.z_mean)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(max_features, hidden_dim, bias=False)
        self.cell = nn.GRUCell(hidden_dim, hidden_dim + c_dim)
        self.out = nn.Linear(hidden_dim + c_dim, max_features)

    def forward(self, one_hot_word, hidden):
        hidden = self.cell(self.embedding(one_hot_word), hidden)
        pre_soft = self.out(hidden)
        return F.softmax(pre_soft / 0.5, dim=1), hidden, pre_soft


def latent_loss(mean, sigma):
    return 0.5 * (mean ** 2 + sigma ** 2 - torch.log(sigma ** 2) - 1).mean()


encoder, decoder = Encoder(), Decoder()
discriminator = nn.Linear(max_features, c_dim)
criterion = nn.CrossEntropyLoss()
vae_opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)
x_train = torch.randint(1, max_features, (64, maxlen))
y_train = torch.randint(0, c_dim, (64,))


def train_vae_with_attr_loss(encoder, decoder, discriminator):
    for batch, start in enumerate(range(0, len(x_train), batch_size)):
        vae_opt.zero_grad()
        vae_loss = 0
        input_data, output_data = x_train[start:start + batch_size], y_train[start:start + batch_size]
        hidden = torch.cat([encoder(input_data), F.one_hot(output_data, c_dim).float()], dim=1)
        batch_init_word = F.one_hot(torch.zeros(batch_size, dtype=torch.long), max_features).float()
        generated = [batch_init_word]
        for index in range(maxlen - 1):
            if 'next_word' in locals():
                output, hidden, pre_soft = decoder(next_word, hidden)
            else:
                output, hidden, pre_soft = decoder(batch_init_word, hidden)
            next_word = output
            vae_loss = vae_loss + criterion(pre_soft, input_data[:, index + 1])
            generated.append(next_word)
        l_attr_c = criterion(discriminator(torch.stack(generated).mean(0)), output_data)
        total_vae_loss = vae_loss + latent_loss(encoder.z_mean, encoder.z_sigma)
        total_vae_loss.backward()
        vae_opt.step()
        print("batch", batch, vae_loss.item() / maxlen, "l_attr_c", l_attr_c.item())


# %%
train_vae_with_attr_loss(encoder, decoder, discriminator)
