# The portable build as an image: docker build -t trainyard . && docker run --rm trainyard bench --network lenet
FROM debian:12 AS build
COPY scripts/install scripts/packages /src/scripts/
RUN /src/scripts/install build && apt-get install -y --no-install-recommends dpkg-dev file git
COPY . /src
RUN cd /src && cmake --preset portable -D BUILD_TESTING=OFF && cmake --build --preset portable && cd build/portable && cpack

FROM debian:12-slim
COPY --from=build /src/build/portable/trainyard_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/trainyard_*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["trainyard"]
