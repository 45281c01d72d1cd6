import { printable } from '../app/log/printable.ts'
import { callServer, type ServerAddress } from './servers/client.ts'

type Reply = {
  readonly model: string
  readonly servers: readonly { readonly host: string; readonly active_requests: number }[]
}

type Change = { readonly model: string; readonly url: string; readonly isDraining: boolean }

/** Takes a server of a remote model out of use on the running server, or back into it, and prints its remaining requests. */
export async function drain(server: ServerAddress, { model, url, isDraining }: Change): Promise<void> {
  const path = `/api/inference/replicas/${isDraining ? 'drain' : 'undrain'}`
  const reply = (await callServer(server, path, { model, url })) as Reply
  for (const { host, active_requests: running } of reply.servers) {
    const end = `gets no new requests; ${running} ${running === 1 ? 'is' : 'are'} still running there`
    console.log(`${printable(host)} of ${printable(reply.model)} ${isDraining ? end : 'is in use'}`)
  }
}
