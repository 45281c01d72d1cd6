# Two images: `docker build --target gateway -t dragoman-gateway .` passes requests on to other servers;
# `docker build -t dragoman .` also has llama.cpp, for the processor, with its library for pictures and sound. Both run without rights on a read-only root; /data is all that they write.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY scripts scripts
RUN npm ci --ignore-scripts --include=dev
COPY . .
RUN node scripts/stage.mjs /out

FROM build AS llama
RUN cd /out/llama && npm ci --ignore-scripts

FROM build AS senses
RUN apt-get update && apt-get install -y --no-install-recommends git cmake g++ make && rm -rf /var/lib/apt/lists/*
RUN node scripts/senses.mjs && mv .cache/senses/* /out/senses

FROM ${NODE_IMAGE} AS gateway
COPY --from=build /out/app /opt/dragoman
RUN ln -s /opt/dragoman/dist/cli/program.js /usr/local/bin/dragoman && install -d -o 1000 -g 1000 /data
ENV NODE_ENV=production DRAGOMAN_HOME=/data DRAGOMAN_HOST=0.0.0.0 DRAGOMAN_PORT=7411
# By number: Kubernetes then sees that it is not root.
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 7411
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DRAGOMAN_PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--no-memory-reducer", "/opt/dragoman/dist/cli/program.js"]
CMD ["serve", "--config", "/etc/dragoman/dragoman.yaml"]

FROM gateway AS dragoman
# Above the program: its own packages may have other versions of what llama.cpp's need.
COPY --from=llama /out/llama/node_modules /opt/node_modules
COPY --from=senses /out/senses /opt/dragoman/senses
CMD ["serve"]
