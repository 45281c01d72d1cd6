import { existsSync } from 'node:fs'
import { requireSenses } from '../../../src/app/models/senses-library.ts'

/** Whether the library for pictures and sound is built. */
export const hasSenses = (() => {
  try {
    return existsSync(requireSenses())
  } catch {
    return false
  }
})()

/** Why tests with it are skipped. */
export const sensesHint = hasSenses ? '' : ' (skipped: build the library with `npm run senses`)'
