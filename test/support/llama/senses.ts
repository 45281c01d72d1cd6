import { findSenses } from '../../../src/app/models/senses/library.ts'

/** Whether the library for pictures and sound is built. */
export const hasSenses = findSenses() !== undefined

/** Why tests with it are skipped. */
export const sensesHint = hasSenses ? '' : ' (skipped: build the library with `npm run senses`)'
