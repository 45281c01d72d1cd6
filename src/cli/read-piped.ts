import { fstatSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'

/** A program that starts this one may leave a socket open that it never writes to; what it has to say is there by now. */
const socketWaitMs = 1000

/**
 * What is piped or redirected into this process; empty for a terminal and for a socket that stays silent. A pipe of a shell is read to its
 * end, however long its writer takes.
 */
export async function readPiped(input: Readable & { readonly isTTY?: boolean; readonly fd?: number }): Promise<string> {
  if (input.isTTY === true) return ''
  if (fstatSync(input.fd ?? 0).isSocket() && !(await hasData(input))) return ''
  return (await readAll(input)).trim()
}

function hasData(input: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    const decide = (isThere: boolean) => {
      clearTimeout(timer)
      input.off('readable', onReadable)
      resolve(isThere)
    }
    // At the end, too, a stream is readable.
    const onReadable = () => decide(true)
    const timer = setTimeout(() => {
      decide(false)
      // It would keep the process alive.
      input.destroy()
    }, socketWaitMs)
    input.on('readable', onReadable)
  })
}
