import { readText } from './measure-processes.ts'

/** What the kernel has for a socket of the internet besides its queues. */
const eachBytes = 4096
/** What waits for a TCP socket takes up to twice its size. */
const perQueuedByte = 2
/** As many as a new network namespace lets wait for a socket (`net.unix.max_dgram_qlen`), and one. */
const maxDatagrams = 11
const datagram = '0002'
const timeWait = '06'
const listening = '0A'

/**
 * Memory that the sockets around a process may take. It belongs to no process, also where no process has the socket open any more. The
 * kernel tells what waits in TCP and UDP sockets. Of UNIX sockets it tells only that they exist, so each counts as full: programs cannot
 * let more wait (SO_SNDBUF, in seccomp.ts).
 */
export function socketBytes(pid: number): number {
  const tables = (names: readonly string[]) => names.map((name) => readText(`/proc/${pid}/net/${name}`)).join('')
  return unixBytes(tables(['unix'])) + tcpBytes(tables(['tcp', 'tcp6'])) + udpBytes(tables(['udp', 'udp6']))
}

function unixBytes(table: string): number {
  const sendBytes = Number(readText('/proc/sys/net/core/wmem_default'))
  const types = [...table.matchAll(/^\S+: \S+ \S+ \S+ (\d{4}) /gm)].map(([, type]) => type)
  return types.reduce((sum, type) => sum + (type === datagram ? maxDatagrams : 1) * sendBytes, 0)
}

/** A socket that listens shows numbers of connections in place of bytes. */
function tcpBytes(table: string): number {
  const queues = internetQueues(table).filter(({ state }) => state !== timeWait && state !== listening)
  return queues.reduce((sum, { bytes }) => sum + eachBytes + perQueuedByte * bytes, 0)
}

function udpBytes(table: string): number {
  return internetQueues(table).reduce((sum, { bytes }) => sum + eachBytes + bytes, 0)
}

/** Of each socket its state, and what waits to be sent and to be read. */
function internetQueues(table: string): readonly { readonly state: string; readonly bytes: number }[] {
  const rows = table.matchAll(/^ *\d+: \S+ \S+ ([\dA-F]{2}) ([\dA-F]{8}):([\dA-F]{8}) /gm)
  return [...rows].map(([, state = '', toSend = '', toRead = '']) => ({
    state,
    bytes: Number.parseInt(toSend, 16) + Number.parseInt(toRead, 16),
  }))
}
