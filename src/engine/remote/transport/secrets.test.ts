import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodings } from '../../../../test/support/encodings.ts'
import { keepSecret, outputWithoutSecrets, redactorOf, valueWithoutSecrets, withoutSecrets } from './secrets.ts'

function keep(...values: string[]): void {
  onTestFinished(keepSecret(values))
}

const secretText = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_+/=%&"\\<.~'), minLength: 20, maxLength: 60 })

describe('secrets', () => {
  test.each(Object.entries(encodings))('are masked %s', (_, encode) => {
    fc.assert(
      fc.property(secretText, fc.string(), fc.string(), (secret, before, after) => {
        const forget = keepSecret([secret])
        const shown = withoutSecrets(`${before} ${encode(secret)} ${after}`)
        forget()
        expect(shown).not.toContain(encode(secret))
        expect(shown).not.toContain(secret.slice(0, 14))
      }),
      { numRuns: 25 },
    )
  })

  test('other text stays', () => {
    keep('sk-0123456789abcdefghij')
    for (const text of ['The key %s is wrong', '100 % of "it" &amp; more', 'sk-other', ''])
      expect(withoutSecrets(text)).toBe(text)
    const value = { a: ['b', { c: 1 }], d: null }
    expect(valueWithoutSecrets(value)).toBe(value)
  })

  test('are masked in texts and names of JSON', () => {
    keep('sk-0123456789abcdefghij')
    const value = { 'sk-0123456789abcdefghij': [{ a: 'x sk-0123456789abcdefghij y' }] }
    expect(valueWithoutSecrets(value)).toEqual({ '…': [{ a: 'x … y' }] })
    expect(outputWithoutSecrets(value, JSON.stringify(value))).toEqual({ '…': [{ a: 'x … y' }] })
    const escaped = '{"a":"\\u0073k-0123456789abcdefghij"}'
    expect(outputWithoutSecrets(JSON.parse(escaped), escaped)).toEqual({ a: '…' })
  })

  test('a placeholder is not looked for in output, and a short one nowhere', () => {
    keep('none', 'test-key')
    expect(outputWithoutSecrets({ a: 'none of test-key' }, '')).toEqual({ a: 'none of test-key' })
    expect(withoutSecrets('none of test-key')).toBe('none of …')
  })

  test('are forgotten with the last of their servers', () => {
    const forget = [keepSecret(['sk-0123456789abcdefghij']), keepSecret(['sk-0123456789abcdefghij'])]
    forget[0]?.()
    expect(withoutSecrets('sk-0123456789abcdefghij')).toBe('…')
    forget[1]?.()
    expect(withoutSecrets('sk-0123456789abcdefghij')).toBe('sk-0123456789abcdefghij')
  })
})

describe("a request's own secret", () => {
  const secret = 'sk-0123456789abcdefghij'
  const { text, output } = redactorOf(secret)

  test('is masked in its texts, whole, encoded, and where the text was cut', () => {
    const forms = [
      secret,
      Buffer.from(secret).toString('base64'),
      secret.slice(0, 15),
      Buffer.from(secret).toString('hex').slice(0, 20),
    ]
    for (const form of forms) expect(text(`said: ${form}`)).not.toContain(form.slice(0, 14))
    expect(output({ type: 'text-delta', delta: `a ${secret} b` })).toEqual({ type: 'text-delta', delta: 'a … b' })
  })

  test('is text in all others', () => {
    expect(withoutSecrets(`said: ${secret}`)).toBe(`said: ${secret}`)
    expect(redactorOf('another-secret-of-a-request').text(secret)).toBe(secret)
  })

  test('is not looked for where it is too short to be one', () => {
    expect(redactorOf('none').text('none of it')).toBe('none of it')
    expect(redactorOf('test-key').output('a test-key')).toBe('a test-key')
    expect(redactorOf('test-key').text('a test-key')).toBe('a …')
  })
})
