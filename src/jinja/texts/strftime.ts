const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

type Part = { readonly value: string | number; readonly width?: number; readonly fill?: string }

/** The parts of C's `strftime` that a prompt may have, in English and local time, with the flags of glibc (`%-d`). Others stay as written. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^#]?)([A-Za-z%])/g, (whole, flag: string, directive: string) => {
    const part = partOf(date, directive)
    if (part === undefined) return whole
    const text = typeof part === 'string' ? part : pad(part, flag)
    return flag === '^' ? text.toUpperCase() : text
  })
}

function pad({ value, width = 0, fill = '0' }: Part, flag: string): string {
  if (flag === '-') return String(value)
  return String(value).padStart(width, flag === '_' ? ' ' : flag === '0' ? '0' : fill)
}

function partOf(date: Date, directive: string): Part | string | undefined {
  const two = (value: number, fill = '0'): Part => ({ value, width: 2, fill })
  const hour12 = date.getHours() % 12 === 0 ? 12 : date.getHours() % 12
  const yearDay = Math.round((startOfDay(date) - new Date(date.getFullYear(), 0, 1).getTime()) / 86_400_000)
  switch (directive) {
    case 'Y':
      return { value: date.getFullYear() }
    case 'y':
      return two(date.getFullYear() % 100)
    case 'm':
      return two(date.getMonth() + 1)
    case 'd':
      return two(date.getDate())
    case 'e':
      return two(date.getDate(), ' ')
    case 'j':
      return { value: yearDay + 1, width: 3 }
    case 'H':
      return two(date.getHours())
    case 'I':
      return two(hour12)
    case 'M':
      return two(date.getMinutes())
    case 'S':
      return two(date.getSeconds())
    default:
      return textPart(date, directive)
  }
}

function textPart(date: Date, directive: string): string | undefined {
  switch (directive) {
    case 'A':
      return days[date.getDay()]
    case 'a':
      return days[date.getDay()]?.slice(0, 3)
    case 'B':
      return months[date.getMonth()]
    case 'b':
    case 'h':
      return months[date.getMonth()]?.slice(0, 3)
    case 'p':
      return date.getHours() < 12 ? 'AM' : 'PM'
    case 'F':
      return strftime(date, '%Y-%m-%d')
    case 'T':
      return strftime(date, '%H:%M:%S')
    case 'D':
      return strftime(date, '%m/%d/%y')
    case 'R':
      return strftime(date, '%H:%M')
    case '%':
      return '%'
    // A Python time without a zone prints nothing here.
    case 'Z':
    case 'z':
      return ''
    default:
      return undefined
  }
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}
