import { readText } from './measure-processes.ts'

/** The kernel's memory for an internet socket besides its queues. */
const eachBytes = 4096
/** Queued data of a TCP socket takes up to twice its size. */
const perQueuedByte = 2
/** The most datagrams queued for a socket in a new network namespace (`net.unix.max_dgram_qlen`), and one more. */
const maxDatagrams = 11
const datagram = '0002'
const timeWait = '06'
const listening = '0A'

/**
 * The most memory that the sockets in a process's namespace may take. No process is charged for it, even after all have closed the socket.
 * The kernel reports the queues of TCP and UDP sockets. It reports only the existence of UNIX sockets, so each counts as full: programs
 * cannot enlarge their queues (SO_SNDBUF, in seccomp.ts).
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

/** For a listening socket, these numbers count connections instead of bytes. */
function tcpBytes(table: string): number {
  const queues = internetQueues(table).filter(({ state }) => state !== timeWait && state !== listening)
  return queues.reduce((sum, { bytes }) => sum + eachBytes + perQueuedByte * bytes, 0)
}

function udpBytes(table: string): number {
  return internetQueues(table).reduce((sum, { bytes }) => sum + eachBytes + bytes, 0)
}

/** The state of each socket, and the bytes queued for sending and receiving. */
function internetQueues(table: string): readonly { readonly state: string; readonly bytes: number }[] {
  const rows = table.matchAll(/^ *\d+: \S+ \S+ ([\dA-F]{2}) ([\dA-F]{8}):([\dA-F]{8}) /gm)
  return [...rows].map(([, state = '', toSend = '', toRead = '']) => ({
    state,
    bytes: Number.parseInt(toSend, 16) + Number.parseInt(toRead, 16),
  }))
}
