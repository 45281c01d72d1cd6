import { describe, expect, test } from 'vitest'
import { Cancellations } from './cancellations.ts'

describe('Cancellations', () => {
  test('a cancelled request learns why', () => {
    const cancellations = new Cancellations()
    const signal = cancellations.open('a')
    expect(cancellations.cancel('a', 'client-gone')).toBe(true)
    expect(signal.reason).toMatchObject({ code: 'cancelled', message: expect.stringContaining('client') })
  })

  test('the first reason wins', () => {
    const cancellations = new Cancellations()
    const signal = cancellations.open('a')
    cancellations.cancel('a', 'client-gone')
    expect(cancellations.cancel('a', 'shutting-down')).toBe(false)
    expect(signal.reason).toMatchObject({ code: 'cancelled' })
  })

  test('an unknown or finished request is not cancelled', () => {
    const cancellations = new Cancellations()
    const signal = cancellations.open('a')
    cancellations.close('a')
    expect(cancellations.cancel('a', 'client-gone')).toBe(false)
    expect(cancellations.cancel('b', 'client-gone')).toBe(false)
    expect(signal.aborted).toBe(false)
    expect(cancellations.size).toBe(0)
  })

  test('an id that is in use is refused, and its request goes on', () => {
    const cancellations = new Cancellations()
    const signal = cancellations.open('a')
    expect(() => cancellations.open('a')).toThrow(expect.objectContaining({ code: 'request-conflict' }))
    expect(signal.aborted).toBe(false)
  })

  test('requests that follow each other on a connection share a signal until it fires', () => {
    const cancellations = new Cancellations()
    const connection = {}
    const first = cancellations.open('a', connection)
    const beside = cancellations.open('b', connection)
    expect(beside).not.toBe(first)
    cancellations.close('a')
    const next = cancellations.open('c', connection)
    expect(next).toBe(first)
    expect(cancellations.open('d', {})).not.toBe(first)
    cancellations.cancel('c', 'client-gone')
    expect(beside.aborted).toBe(false)
    cancellations.close('c')
    expect(cancellations.open('e', connection).aborted).toBe(false)
  })

  test('all can be cancelled at once', () => {
    const cancellations = new Cancellations()
    const signals = [cancellations.open('a'), cancellations.open('b')]
    cancellations.cancel('a', 'client-gone')
    expect(cancellations.cancelAll('shutting-down')).toBe(1)
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true])
  })
})
