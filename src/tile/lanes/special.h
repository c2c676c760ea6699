// Special functions that the C library lacks, in f64, to a few ulp. Domain errors give NaN, poles infinities.
#pragma once

namespace tritogen::tile::lanes {

double ErfInv(double x);      // on (-1, 1)
double ErfcInv(double x);     // on (0, 2)
double Erfcx(double x);       // exp(x²) erfc(x)
double NormCdf(double x);     // standard normal distribution
double NormCdfInv(double p);  // its quantile, on (0, 1)
double BesselI0(double x);    // modified Bessel functions of the first kind
double BesselI1(double x);
double SinPi(double x);  // sin(πx), exact zeros
double CosPi(double x);

}  // namespace tritogen::tile::lanes
