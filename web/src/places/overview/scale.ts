/** The end of an axis that begins at zero: 1, 2 or 5 times a power of ten. */
export function topOf(values: readonly (number | undefined)[]): number {
  const most = values.reduce<number>((max, value) => Math.max(max, value ?? 0), 0)
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return (([1, 2, 5, 10].find((step) => step * power >= most) ?? 10) as number) * power
}

type Scale = { x(index: number): number; readonly top: number; readonly height: number }

/** A line through the known values; it is interrupted at missing ones, and a value alone is a short dash. */
export function pathOf(values: readonly (number | undefined)[], { x, top, height }: Scale): string {
  const y = (value: number) => (height - 1 - (value / top) * (height - 2)).toFixed(1)
  let path = ''
  values.forEach((value, index) => {
    if (value === undefined) return
    const isAlone = values[index - 1] === undefined
    path += `${isAlone ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value)}`
    if (isAlone && values[index + 1] === undefined) path += 'h3'
  })
  return path
}
