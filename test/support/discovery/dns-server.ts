import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

type Srv = { readonly priority?: number; readonly weight?: number; readonly port: number; readonly target: string }
/** What a name has; absent: it does not exist. `fails` is SERVFAIL. */
type Zone = { a?: readonly string[]; aaaa?: readonly string[]; srv?: readonly Srv[]; fails?: true }

const types: Readonly<Record<number, 'a' | 'aaaa' | 'srv'>> = { 1: 'a', 28: 'aaaa', 33: 'srv' }
const codes = { fine: 0, failed: 2, noSuchName: 3 }
const maxUdpBytes = 512

/** A name server on loopback, over UDP and TCP, with TTL 0. A reply of more than 512 bytes is cut off over UDP, and marked so. */
export async function startDnsServer(zones: Record<string, Zone> = {}) {
  const asked: string[] = []
  const answer = (query: Buffer): Buffer => {
    const { name, end } = readName(query, 12)
    const type = types[query.readUInt16BE(end)]
    asked.push(`${type} ${name}`)
    const zone = zones[name.toLowerCase()]
    const code = zone === undefined ? codes.noSuchName : zone.fails ? codes.failed : codes.fine
    const records = code !== codes.fine || zone === undefined || type === undefined ? [] : recordsOf(zone, type)
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8580 | code, 2)
    head.writeUInt16BE(records.length, 6)
    // Without an additional section.
    head.writeUInt32BE(0, 8)
    const question = query.subarray(12, end + 4)
    const body = records.map((data) => Buffer.concat([recordHead(query.readUInt16BE(end), data.length), data]))
    return Buffer.concat([head, question, ...body])
  }
  const udp = createSocket('udp4', (query, { port, address }) => {
    const reply = answer(query)
    if (reply.length <= maxUdpBytes) return void udp.send(reply, port, address)
    const cut = reply.subarray(0, readName(query, 12).end + 4)
    cut.writeUInt16BE(cut.readUInt16BE(2) | 0x0200, 2)
    cut.writeUInt16BE(0, 6)
    udp.send(cut, port, address)
  })
  const tcp = createServer((socket) => {
    let read = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      read = Buffer.concat([read, bytes])
      if (read.length < 2 || read.length < 2 + read.readUInt16BE(0)) return
      const reply = answer(read.subarray(2))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length)
      socket.end(Buffer.concat([length, reply]))
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  const { port } = tcp.address() as { port: number }
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    udp.close()
    tcp.close()
  })
  return { zones, asked, address: `127.0.0.1:${port}` }
}

function recordsOf(zone: Zone, type: 'a' | 'aaaa' | 'srv'): readonly Buffer[] {
  if (type === 'a') return (zone.a ?? []).map((address) => Buffer.from(address.split('.').map(Number)))
  if (type === 'aaaa')
    return (zone.aaaa ?? []).map((last) => Buffer.concat([Buffer.alloc(15), Buffer.from([Number(last.slice(2))])]))
  return (zone.srv ?? []).map(({ priority = 0, weight = 0, port, target }) => {
    const head = Buffer.alloc(6)
    for (const [index, value] of [priority, weight, port].entries()) head.writeUInt16BE(value, index * 2)
    const labels = target.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
    return Buffer.concat([head, ...labels, Buffer.from([0])])
  })
}

function recordHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(12)
  // The name of the question, class IN, TTL 0.
  for (const [index, value] of [0xc00c, type, 1, 0, 0, length].entries()) head.writeUInt16BE(value, index * 2)
  return head
}

function readName(bytes: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = start
  for (let length = bytes[at] ?? 0; length > 0; length = bytes[at] ?? 0) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), end: at + 1 }
}
