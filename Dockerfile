# The server alone, without Java and Spark.
FROM python:3.11-slim
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY metastore metastore
COPY migrations migrations
COPY spark_client spark_client
COPY thrift_idl thrift_idl
RUN pip install --no-cache-dir --require-hashes -r requirements.lock \
 && pip install --no-cache-dir --no-deps . \
 && useradd --uid 10001 --create-home metastore \
 && install -d -o metastore /warehouse
USER metastore
WORKDIR /home/metastore
ENV METASTORE_HOST=0.0.0.0 METASTORE_WAREHOUSE=/warehouse
EXPOSE 9083
VOLUME /warehouse
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["metastore", "databases"]
ENTRYPOINT ["metastore"]
CMD ["serve"]
