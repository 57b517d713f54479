# The server alone, without Java and Spark. The second stage has no pip, no compiler and no sources.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml setup.py requirements.lock README.md LICENSE ./
COPY metastore metastore
COPY migrations migrations
COPY spark_client spark_client
COPY thrift_idl thrift_idl
RUN python -m venv --without-pip /opt/metastore \
 && python -m pip --python /opt/metastore/bin/python install --no-cache-dir --require-hashes -r requirements.lock \
 && python -m pip --python /opt/metastore/bin/python install --no-cache-dir --no-deps .
# The bill of materials (SBOM) of the Python packages, in the CycloneDX format.
RUN python -m venv /opt/sbom \
 && /opt/sbom/bin/python -m pip install --no-cache-dir cyclonedx-bom==7.5.0 \
 && install -d /opt/metastore/share/sbom \
 && /opt/sbom/bin/cyclonedx-py environment --output-reproducible -o /opt/metastore/share/sbom/metastore.cdx.json /opt/metastore/bin/python

FROM python:3.11-slim
LABEL org.opencontainers.image.title="metastore" \
      org.opencontainers.image.description="A Hive Metastore on PostgreSQL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="1.0.0"
# Kubernetes and OpenShift may choose any user; its group is then 0.
RUN useradd --uid 10001 --gid 0 --no-create-home --home-dir /data metastore \
 && install -d -o 10001 -g 0 -m 0775 /data /warehouse
COPY --from=build /opt/metastore /opt/metastore
ENV PATH=/opt/metastore/bin:$PATH METASTORE_HOST=0.0.0.0 METASTORE_WAREHOUSE=/warehouse METASTORE_DATA_DIR=/data
USER 10001
WORKDIR /data
EXPOSE 9083 9084
# /data: the embedded PostgreSQL, if METASTORE_DATABASE_URL is not set.
VOLUME ["/data", "/warehouse"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["metastore", "health"]
ENTRYPOINT ["metastore"]
CMD ["serve"]
