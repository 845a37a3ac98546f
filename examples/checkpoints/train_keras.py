"""The same with Keras, whose callbacks do it: BackupAndRestore goes on after the last whole epoch, ModelCheckpoint keeps the
best weights."""
import argparse

import keras
import numpy

parser = argparse.ArgumentParser()
parser.add_argument("--directory", default="keras")
parser.add_argument("--epochs", type=int, default=20)
options = parser.parse_args()

random = numpy.random.default_rng(1)
data = random.normal(size=(1024, 16)).astype("float32")
labels = (data.sum(axis=1) > 0).astype("float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(data, labels, epochs=options.epochs, validation_split=0.2, verbose=2, callbacks=[
    keras.callbacks.BackupAndRestore(options.directory + "/backup"),
    keras.callbacks.ModelCheckpoint(options.directory + "/best.weights.h5", save_best_only=True, save_weights_only=True)])
print("done")
