import { signal } from '@preact/signals'
import { urlOf } from './base.ts'

/** The server cannot be reached; with the seconds until the next attempt. */
export const lost = signal<{ readonly seconds: number } | undefined>(undefined)
/** Counts returns of the server: components then fetch their data again. */
export const returns = signal(0)

const longestWaitSeconds = 30
let isWatching = false
let hurry: (() => void) | undefined

/** Called for each request without an answer: polls the server's health until it answers. */
export function connectionLost(): void {
  if (!isWatching) void watch()
}

/** Skips the wait for the next attempt. */
export function tryNow(): void {
  hurry?.()
}

async function watch(): Promise<void> {
  isWatching = true
  for (let waitSeconds = 1; ; waitSeconds = Math.min(waitSeconds * 2, longestWaitSeconds)) {
    for (let left = waitSeconds; left > 0; left -= 1) {
      lost.value = { seconds: left }
      if (await wasHurried(1000)) break
    }
    lost.value = { seconds: 0 }
    if (await isThere()) break
  }
  isWatching = false
  lost.value = undefined
  returns.value += 1
}

function wasHurried(ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    hurry = () => {
      clearTimeout(timer)
      resolve(true)
    }
  })
}

async function isThere(): Promise<boolean> {
  try {
    return (await fetch(urlOf('health'), { cache: 'no-store' })).ok
  } catch {
    // The result that the poll asks for.
    return false
  }
}
