import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { chatChunk, doneLine, openStream, usageChunk } from './upstream.ts'

/** `probes`: questions who it is, without the health checks and what is read beside them. */
type Replica = { readonly server: Server; probes: number; requests: number }

type FleetOptions = { readonly delayMs?: number; readonly tls?: { readonly key: Buffer; readonly cert: Buffer } }

/** Replicas of a vLLM in this process, one port, each at a loopback address of its own. Each answers with its address. */
export async function startLoopbackFleet({ delayMs = 0, tls }: FleetOptions = {}) {
  const replicas = new Map<string, Replica>()
  let port = 0
  let gets = 0
  let most = 0
  let held = Promise.resolve()
  const respond = async (replica: Replica, address: string, request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET') {
      if (request.url !== '/health' && request.url !== '/metrics') replica.probes += 1
      gets += 1
      most = Math.max(most, gets)
      await pause(1)
      gets -= 1
      const isList = request.url === '/v1/models'
      const list = { object: 'list', data: [{ id: 'm', object: 'model', owned_by: 'vllm', max_model_len: 32_768 }] }
      return void response.end(JSON.stringify(isList ? list : { version: '0.32.0' }))
    }
    replica.requests += 1
    for await (const _ of request);
    await held
    openStream(response)
    response.write(chatChunk({ delta: { content: `${address} ` } }))
    await pause(delayMs)
    response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + usageChunk(10, 2) + doneLine)
  }
  const fleet = {
    get port() {
      return port
    },
    /** Questions that were answered at the same time, at most. */
    get mostAtATime() {
      return most
    },
    replica: (address: string) => replicas.get(address),
    all: () => [...replicas.values()],
    async start(address: string): Promise<void> {
      const listener: RequestListener = (request, response) => void respond(replica, address, request, response)
      const replica: Replica = {
        server: tls === undefined ? createServer(listener) : createTlsServer(tls, listener),
        probes: 0,
        requests: 0,
      }
      await new Promise<void>((resolve) => replica.server.listen(port, address, resolve))
      port = (replica.server.address() as AddressInfo).port
      replicas.set(address, replica)
    },
    /** Requests get no answer until the function that it returns is called. */
    hold(): () => void {
      let release: () => void = () => undefined
      held = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
    /** As a pod that is asked to end: what runs may end, new connections are refused. */
    stop(address: string): void {
      const replica = replicas.get(address)
      replica?.server.close()
      replica?.server.closeIdleConnections()
    },
  }
  onTestFinished(() => {
    for (const { server } of replicas.values()) {
      server.close()
      server.closeAllConnections()
    }
  })
  return fleet
}

/** The addresses 127.2.0.1, 127.2.0.2 … of a fleet. */
export function loopbackAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `127.2.${Math.floor(index / 250)}.${(index % 250) + 1}`)
}
