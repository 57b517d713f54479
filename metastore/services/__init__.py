"""Rules of the metastore. Services open the transactions; all layers below join them."""
