"""The statements that Spark's parser refuses: `grammar` reads them, `run` carries them out, a noun each."""
