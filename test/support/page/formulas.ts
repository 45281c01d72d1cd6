/** Formulas in the forms that reasoning models write, by what they have. */
export const formulas: Readonly<Record<string, string>> = {
  'a square': String.raw`\(a^2 + b^2 = c^2\)`,
  'the roots of a quadratic': String.raw`\[ x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a} \]`,
  'a matrix': String.raw`\[ \begin{pmatrix} a & b \\ c & d \end{pmatrix}^{-1} = \frac{1}{ad-bc} \begin{pmatrix} d & -b \\ -c & a \end{pmatrix} \]`,
  'an integral': String.raw`$$\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}$$`,
  'a sum': String.raw`$$\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}$$`,
  'a product': String.raw`$$\prod_{p \text{ prime}} \frac{1}{1 - p^{-s}} = \zeta(s)$$`,
  'a limit': String.raw`\[ \lim_{h \to 0} \frac{f(x+h) - f(x)}{h} = f'(x) \]`,
  cases: String.raw`\[ |x| = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases} \]`,
  'aligned lines': String.raw`\[
\begin{aligned}
(x+1)^2 &= x^2 + 2x + 1 \\
        &\ge 2x + 1
\end{aligned}
\]`,
  'lines of align': String.raw`\begin{align*} a &= b + c \\ d &= e \end{align*}`.replace(/^/, '$$$$').concat('$$'),
  'an empty line inside': '\\[\n\nE = mc^2\n\n\\]',
  'a box around the result': String.raw`\[ \boxed{x = 42} \]`,
  'a subscript of several letters': String.raw`$v_{\text{max}} = \sqrt{2 g h}$`,
  'a vector': String.raw`$\vec{F} = m\vec{a}$`,
  'bold vectors': String.raw`$\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}$`,
  'sets of numbers': String.raw`$\forall x \in \mathbb{R},\ \exists n \in \mathbb{N}: n > x$`,
  'letters of scripts': String.raw`$\mathcal{L}(\theta) = -\mathbb{E}_{x \sim \mathcal{D}} [\log p_\theta(x)]$`,
  'a binomial': String.raw`$\binom{n}{k} = \frac{n!}{k!\,(n-k)!}$`,
  'a bra and a ket': String.raw`$\langle \psi | \hat{H} | \psi \rangle$`,
  'large parentheses': String.raw`\[ \left( \frac{a}{b} \right)^{\!n} + \left[ \frac{1}{1 + \frac{1}{x}} \right] \]`,
  'a norm': String.raw`$\lVert x \rVert_2 = \left( \sum_i x_i^2 \right)^{1/2}$`,
  'an underbrace': String.raw`\[ \underbrace{1 + 1 + \cdots + 1}_{n \text{ times}} = n \]`,
  'something cancelled': String.raw`\[ \frac{\cancel{x}(x+1)}{\cancel{x}} = x + 1 \]`,
  'a reaction': String.raw`\(\ce{2H2 + O2 -> 2H2O}\)`,
  'an arrow with words': String.raw`$A \xrightarrow{\text{heat}} B$`,
  'a congruence': String.raw`$a \equiv b \pmod{n}$`,
  'a determinant': String.raw`$\det A = \begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix} = -2$`,
  'a root of a higher degree': String.raw`$\sqrt[3]{27} = 3$`,
  'an amount of money': String.raw`$\$0.60 \times 5 = \$3.00$`,
  'units and a percent sign': String.raw`\( 9.81\,\mathrm{m/s^2},\ 12.5\% \)`,
  'a double integral': String.raw`\[ \iint_D \left( \frac{\partial Q}{\partial x} - \frac{\partial P}{\partial y} \right) dA = \oint_{\partial D} P\,dx + Q\,dy \]`,
  attention: String.raw`\[ \operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V \]`,
}
